/**
 * A real apiserver behind everything that can stand or happen in between. Each row hurts a running
 * watch, changes an object meanwhile, and wants that change without a restart.
 */
import assert from "node:assert/strict";
import { systemClock as clock } from "../../lib/base/clock.ts";
import type { Service } from "../../lib/kube/objects.ts";
import type { CollectingLog, Follower } from "../fakes/kube_client.ts";
import { ApiClient } from "./rig/api.ts";
import { ControlPlane } from "./rig/control_plane.ts";
import { controlPlaneAddresses } from "./rig/network.ts";
import { type FollowOptions, followServices, fullStates, unreachable } from "./rig/follow.ts";
import { namespaceObject, serviceObject } from "./rig/objects.ts";
import { HttpRelay, type RelayMode, TcpRelay } from "./rig/relay.ts";

/** `KUBE_PROXY_TEST_FULL=1` makes outages as long as in the field. */
const outageMs = Deno.env.get("KUBE_PROXY_TEST_FULL") ? 20_000 : 4_000;
/** Long enough for the kernel to become slow at asking for a connection. */
const blackHoleMs = Math.max(outageMs, 10_000);
const effectMs = 3_000;

interface Scene {
  readonly plane: ControlPlane;
  readonly http: HttpRelay;
  readonly tcp: TcpRelay;
  readonly folder: string;
  readonly create: (name: string) => Promise<void>;
}

interface Row {
  readonly name: string;
  readonly options: (scene: Scene) => Promise<FollowOptions> | FollowOptions;
  /** Resolves when the fault is over; `late` was created before that. */
  readonly hurt: (scene: Scene, late: () => Promise<void>) => Promise<void>;
  /** Complete states in all: 1 where the watch could be resumed. */
  readonly states: number;
  /** What is said of it; no more than that the apiserver is not reachable where not given. */
  readonly log?: RegExp;
}

const throughHttp = ({ http }: Scene): FollowOptions => ({ url: http.url });
const throughTcp = ({ tcp }: Scene): FollowOptions => ({ url: `https://${tcp.host}` });

/** Treats the next chunk and leaves the others alone. */
function once(http: HttpRelay, treat: (chunk: Uint8Array) => Uint8Array | undefined): void {
  http.watchChunk = (chunk) => {
    http.watchChunk = undefined;
    return treat(chunk);
  };
}

async function outage(scene: Scene, late: () => Promise<void>): Promise<void> {
  scene.http.cutWatches();
  scene.tcp.cut();
  await late();
  await clock.sleep(outageMs);
}

/** Whoever asks is answered so for a while. */
function answering(answer: () => Response): Row["hurt"] {
  return async (scene, late) => {
    scene.http.answer = answer;
    await outage(scene, late);
    scene.http.answer = undefined;
  };
}

/** Connections are treated so for a while. */
function relaying(mode: RelayMode): Row["hurt"] {
  return async (scene, late) => {
    scene.tcp.mode = mode;
    await outage(scene, late);
    scene.tcp.mode = "forward";
  };
}

const rows: readonly Row[] = [
  ...[1, 4, 5, 40, 200].map((bytes) => ({
    name: `the watch ends ${bytes} bytes into a frame`,
    options: throughHttp,
    hurt: async ({ http }: Scene, late: () => Promise<void>) => {
      let cut = false;
      http.watchChunk = (chunk) => {
        if (cut) {
          http.watchChunk = undefined;
          return undefined;
        }
        cut = true;
        // The rest of the chunk is lost, and the next one ends the stream.
        queueMicrotask(() => http.cutWatches());
        return chunk.subarray(0, bytes);
      };
      await late();
    },
    states: 1,
  })),
  {
    name: "frames full of garbage",
    options: throughHttp,
    hurt: async ({ http }, late) => {
      once(http, (chunk) => chunk.map((byte, i) => i < 4 ? byte : byte ^ 0x5a));
      await late();
    },
    states: 1,
    log: /Cannot follow a resource, .*MalformedMessageError/,
  },
  {
    name: "a frame that claims to be of 4 GB",
    options: throughHttp,
    hurt: async ({ http }, late) => {
      once(http, (chunk) => chunk.map((byte, i) => i < 4 ? 0xff : byte));
      await late();
    },
    states: 1,
    log: /Cannot follow a resource, .*: a frame of 4294967295 bytes/,
  },
  {
    name: "429 with Retry-After for a while",
    options: throughHttp,
    hurt: answering(() =>
      new Response("too many", { status: 429, headers: { "retry-after": "1" } })
    ),
    states: 1,
    log: /Cannot watch services: HTTP status 429/,
  },
  {
    name: "a proxy that answers with its login page for a while",
    options: throughHttp,
    hurt: answering(() =>
      new Response("<html>log in", { headers: { "content-type": "text/html" } })
    ),
    states: 1,
    log: /not reachable/,
  },
  {
    name: "403 for a while, as from a server that has not read its roles yet",
    options: throughHttp,
    hurt: answering(() => new Response("{}", { status: 403 })),
    states: 1,
    log: /Cannot watch services: HTTP status 403/,
  },
  {
    name: "a proxy that speaks garbage instead of TLS for a while",
    options: throughTcp,
    hurt: relaying("garbage"),
    states: 1,
    log: /not reachable/,
  },
  {
    name: "a load balancer that takes connections and is silent for a while",
    options: throughTcp,
    hurt: relaying("silent"),
    states: 1,
  },
  {
    name: "a network that loses everything for a while, and says nothing",
    options: () => ({}),
    hurt: async (_scene, late) => {
      nft("add table inet hole");
      nft("add chain inet hole out { type filter hook output priority 0; }");
      nft(`add rule inet hole out ip daddr ${controlPlaneAddresses.IPv4} tcp dport 6443 drop`);
      nft(`add rule inet hole out ip saddr ${controlPlaneAddresses.IPv4} tcp sport 6443 drop`);
      try {
        await late();
        await clock.sleep(blackHoleMs);
      } finally {
        nft("delete table inet hole");
      }
    },
    states: 1,
  },
  {
    name: "a token that is rotated late",
    options: async ({ plane, http, folder }) => {
      const path = `${folder}/token`;
      await Deno.writeTextFile(path, plane.access.proxyToken);
      return { url: http.url, credentials: { token: { kind: "file", path } } };
    },
    hurt: async (scene, late) => {
      // The old one is worthless from now on, and the file is gone for a moment.
      const path = `${scene.folder}/token`;
      await Deno.writeTextFile(path, "revoked");
      await outage(scene, late);
      await Deno.remove(path);
      await clock.sleep(500);
      await Deno.writeTextFile(path, scene.plane.access.adminToken);
    },
    states: 1,
    log: /Unauthorized/,
  },
  {
    name: "a client certificate that expires, is half replaced, then replaced",
    options: async (scene) => {
      await writeCertificate(scene, 3 / 86_400);
      const { folder, tcp } = scene;
      const clientCertificate = { kind: "file", path: `${folder}/client.crt` } as const;
      const clientKey = { kind: "file", path: `${folder}/client.key` } as const;
      return { url: `https://${tcp.host}`, credentials: { clientCertificate, clientKey } };
    },
    hurt: async (scene, late) => {
      await clock.sleep(3_500);
      await outage(scene, late);
      const { certificate } = await scene.plane.authority.issue({ commonName: "half" });
      await Deno.writeTextFile(`${scene.folder}/client.crt`, certificate);
      await clock.sleep(500);
      await writeCertificate(scene, 1);
    },
    states: 1,
    log: /Cannot watch services: Unauthorized/,
  },
  {
    name: "etcd compacted beyond what the watch has seen",
    options: throughTcp,
    hurt: async (scene, late) => {
      scene.tcp.mode = "close";
      scene.tcp.cut();
      await late();
      await scene.create("more");
      await scene.plane.compactEtcd();
      // The server's own memory of events would hide the compaction.
      await scene.plane.stopApiserver();
      await scene.plane.startApiserver();
      scene.tcp.mode = "forward";
    },
    states: 2,
  },
];

async function writeCertificate({ plane, folder }: Scene, days: number): Promise<void> {
  const { certificate, key } = await plane.authority.issue({
    commonName: "system:kube-proxy",
    days,
  });
  await Deno.writeTextFile(`${folder}/client.crt`, certificate);
  await Deno.writeTextFile(`${folder}/client.key`, key);
}

Deno.test("a watch of a real apiserver goes on after", async (test) => {
  await using plane = await ControlPlane.start();
  const { access } = plane;
  const { hostname } = new URL(access.url);
  const certificate = await plane.authority.issue({
    commonName: "relay",
    names: ["127.0.0.1", hostname],
  });
  const { caCertificate, url: targetUrl } = access;
  await using http = new HttpRelay({ targetUrl, caCertificate, certificate });
  using tcp = new TcpRelay(targetUrl);
  const folder = await Deno.makeTempDir();
  const create = async (name: string) => {
    // Not the way that the rows hurt.
    using api = new ApiClient({ ...access, url: "https://127.0.0.1:6443" });
    await api.create(serviceObject({ namespace: "shop", name }));
  };
  const scene = { plane, http, tcp, folder, create };
  {
    using api = new ApiClient(access);
    await api.create(namespaceObject("shop"));
  }
  let count = 0;
  for (const { name, options, hurt, states, log } of rows) {
    await test.step(name, async () => {
      const given = {
        timing: { connectionSilenceMs: 1_000 },
        says: log ? [unreachable, log] : [unreachable],
        ...await options(scene),
      };
      await followServices(access, given, async (follower, said) => {
        await untilWatching(follower, { create, name: `early-${++count}` });
        await hurt(scene, () => create(`late-${count}`));
        await check({ follower, said, name: `late-${count}`, states, log });
        await untilWatching(follower, { create, name: `after-${count}` });
      });
      http.watchChunk = undefined;
    });
  }
  await Deno.remove(folder, { recursive: true });
});

async function untilWatching(
  follower: Follower<Service>,
  { create, name }: { readonly create: Scene["create"]; readonly name: string },
): Promise<void> {
  await create(name);
  await follower.until(name, () => follower.objects.has(`shop/${name}`));
}

async function check({ follower, said, name, states, log }: {
  readonly follower: Follower<Service>;
  readonly said: CollectingLog;
  readonly name: string;
  readonly states: number;
  readonly log: RegExp | undefined;
}): Promise<void> {
  await follower.until(`${name}; ${said.lines.join("; ")}`, () => {
    return follower.objects.has(`shop/${name}`);
  }, effectMs);
  assert.equal(fullStates(follower), states, said.lines.join("\n"));
  if (log) assert.match(said.lines.join("\n"), log);
  assert.ok(said.lines.length <= 2, said.lines.join("\n"));
}

function nft(command: string): void {
  const { success, stderr } = new Deno.Command("nft", { args: [command], stderr: "piped" })
    .outputSync();
  assert.ok(success, new TextDecoder().decode(stderr));
}
