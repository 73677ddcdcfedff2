/**
 * The network around the scratch namespace: one tun device, behind which all the world is. A packet is
 * written, and what the kernel makes of it is read back at once; where nothing comes out, it was
 * dropped. No packet leaves this process.
 */
import type { Clock } from "../../base/clock.ts";
import { familyOfCanonicalIp, parseIp } from "../../base/ip.ts";
import type { IpFamily } from "../../base/ip_family.ts";
import type { Protocol } from "../../base/protocol.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { changeAddress } from "../../kernel/links/change_address.ts";
import type { AddressChange, Links } from "../../kernel/links/links.ts";
import { addDefaultRoute, setLinkUp } from "../../kernel/links/set_up.ts";
import { buildPacket } from "../../kernel/packets/build_packet.ts";
import { RawSender } from "../../kernel/packets/raw_sender.ts";
import { readPacket } from "../../kernel/packets/read_packet.ts";
import { ensureSysctl } from "../../kernel/sysctl.ts";
import { Tun } from "../../kernel/packets/tun.ts";
import { type Outcome, outcomeOf, type SentPacket } from "./outcome_of.ts";

/** A connection that is tried. Addresses are canonical text. */
export interface Attempt {
  readonly from: "outside" | "node";
  readonly to: string;
  readonly port: number;
  readonly protocol: Protocol;
}

/** The two addresses of a family that nobody else has: of a client outside, and of this node. */
export interface Ends {
  readonly client: string;
  readonly node: string;
}

/** A network that takes packets and says what became of them. */
export interface PacketNetwork extends Disposable {
  /** From now on the address is one of this node's. */
  addNodeAddress(ip: string): Promise<void>;
  /** From now on it is not. */
  removeNodeAddress(ip: string): Promise<void>;
  /** Sends the first packet of a new connection. */
  attempt(attempt: Attempt): Outcome;
}

/** What a network is made in. */
export interface ScratchNetworkOptions {
  readonly kernel: Kernel;
  readonly ends: ReadonlyMap<IpFamily, Ends>;
  readonly clock: Clock;
}

const device = "kp-rehearsal";
const localTable = 255;
const pauseMs = 1;
const mostTries = 2_000;
const firstPort = 20_000;
const lastPort = 60_000;

/** Of the network namespace of this thread, which must be a scratch one; `using` takes it away. */
export class ScratchNetwork implements PacketNetwork {
  readonly #tun = new Tun(device);
  readonly #links: Links;
  readonly #clock: Clock;
  readonly #ends: ReadonlyMap<IpFamily, Ends>;
  readonly #senders = new Map<IpFamily, RawSender>();
  readonly #index: number;
  #port = firstPort;
  #id = 1;

  private constructor({ clock, ends, kernel: { links } }: ScratchNetworkOptions) {
    this.#links = links;
    this.#clock = clock;
    this.#ends = ends;
    this.#index = links.find(device)?.index ?? 0;
  }

  /** Throws where the device or a setting cannot be had. */
  static async open(options: ScratchNetworkOptions): Promise<ScratchNetwork> {
    const { ends, kernel: { links, sysctl } } = options;
    const network = new ScratchNetwork(options);
    try {
      for (const [setting, value] of settings(ends.has("IPv6"))) {
        ensureSysctl(sysctl, setting, value);
      }
      const loopback = links.find("lo");
      if (loopback) setLinkUp(loopback.index);
      setLinkUp(network.#index);
      for (const [family, { node }] of ends) {
        await network.addNodeAddress(node);
        addDefaultRoute(network.#index, family);
      }
      return network;
    } catch (error) {
      network[Symbol.dispose]();
      throw error;
    }
  }

  async addNodeAddress(ip: string): Promise<void> {
    await this.#changeAddress("add", ip);
    // The kernel goes on with an address of IPv6 by itself: until then it leads elsewhere.
    const isHere = () =>
      this.#links.routes().some(({ destination, table }) =>
        table === localTable && destination.split("/")[0] === ip
      );
    for (let tries = 0; !isHere(); tries++) {
      if (tries === mostTries) throw new Error(`Cannot use the address ${ip}: the kernel is late`);
      await this.#clock.sleep(pauseMs);
    }
  }

  async removeNodeAddress(ip: string): Promise<void> {
    await this.#changeAddress("delete", ip);
  }

  attempt({ from, port, protocol, to }: Attempt): Outcome {
    const destination = bytesOf(to);
    const family = destination.length === 4 ? "IPv4" : "IPv6";
    const ends = this.#ends.get(family);
    if (!ends) throw new TypeError(`Cannot send to "${to}": the rehearsal has no ${family}`);
    this.#port = this.#port === lastPort ? firstPort : this.#port + 1;
    const sourcePort = this.#port;
    const id = this.#id++;
    const source = bytesOf(from === "outside" ? ends.client : ends.node);
    const packet = buildPacket({
      protocol,
      source,
      destination,
      sourcePort,
      destinationPort: port,
      id,
    });
    if (from === "outside") this.#tun.write(packet);
    else this.#senderOf(family).send(packet, destination);
    return this.#outcome({ id, protocol, sourcePort });
  }

  [Symbol.dispose](): void {
    for (const sender of this.#senders.values()) sender[Symbol.dispose]();
    this.#tun[Symbol.dispose]();
  }

  #changeAddress(kind: AddressChange["kind"], ip: string): Promise<void> {
    const family = familyOfCanonicalIp(ip);
    return changeAddress(this.#links, { kind, ip, family, linkIndex: this.#index });
  }

  #outcome(sent: SentPacket): Outcome {
    let outcome: Outcome = { kind: "nothing" };
    for (let bytes = this.#tun.read(); bytes !== undefined; bytes = this.#tun.read()) {
      const seen = readPacket(bytes);
      if (seen) outcome = outcomeOf(seen, sent) ?? outcome;
    }
    return outcome;
  }

  #senderOf(family: IpFamily): RawSender {
    let sender = this.#senders.get(family);
    if (!sender) this.#senders.set(family, sender = new RawSender(family));
    return sender;
  }
}

/** A router between the world and itself, that answers each refusal and asks nobody anything. */
function settings(hasIpv6: boolean): readonly (readonly [string, string])[] {
  const ipv4 = [
    ["net/ipv4/ip_forward", "1"],
    ["net/ipv4/conf/all/rp_filter", "0"],
    [`net/ipv4/conf/${device}/rp_filter`, "0"],
    ["net/ipv4/icmp_ratelimit", "0"],
    // The limit over all clients counts what this mask names.
    ["net/ipv4/icmp_ratemask", "0"],
  ] as const;
  const ipv6 = [
    ["net/ipv6/conf/all/disable_ipv6", "0"],
    [`net/ipv6/conf/${device}/disable_ipv6`, "0"],
    [`net/ipv6/conf/${device}/addr_gen_mode`, "1"],
    [`net/ipv6/conf/${device}/accept_ra`, "0"],
    ["net/ipv6/conf/all/forwarding", "1"],
    ["net/ipv6/icmp/ratelimit", "0"],
  ] as const;
  return hasIpv6 ? [...ipv4, ...ipv6] : ipv4;
}

function bytesOf(ip: string): Uint8Array {
  const bytes = parseIp(ip);
  if (!bytes) throw new TypeError(`Cannot send a packet: "${ip}" is no address`);
  return bytes;
}
