/** What changes do to IPVS, and what is refused: the same cases run on the fake and on real kernels. */
import assert from "node:assert/strict";
import { ipFamilies } from "../../../../lib/base/ip_family.ts";
import type {
  Ipvs,
  IpvsChange,
  IpvsDestination,
  IpvsEntry,
  IpvsRefusal,
  IpvsServer,
} from "../../../../lib/kernel/ipvs/ipvs.ts";
import { destinationText, frontendText, serverText } from "../../../../lib/kernel/ipvs/text.ts";

export interface BehaviourCase {
  readonly name: string;
  /** Committed first, and taken. */
  readonly given?: readonly IpvsChange[];
  readonly changes: readonly IpvsChange[];
  /** Of the changes: those that are refused, by their index. */
  readonly refused?: readonly (readonly [change: number, refusal: IpvsRefusal, message: string])[];
  /** What there is in the end, as `ipvsadm -Sn` prints it, sorted. */
  readonly left: readonly string[];
}

export const web: IpvsServer = {
  family: "IPv4",
  protocol: "tcp",
  address: "10.96.0.1",
  port: 80,
  scheduler: "rr",
  flags: 0,
};
const dns: IpvsServer = { ...web, protocol: "udp", address: "10.96.0.10", port: 53 };
const web6: IpvsServer = { ...web, family: "IPv6", address: "fd00:10:96::1" };
const sctp: IpvsServer = { ...web, protocol: "sctp", port: 9999 };

export const pod: IpvsDestination = {
  address: "10.128.0.5",
  port: 8080,
  forwarding: "masquerade",
  weight: 1,
};
const pod2: IpvsDestination = { ...pod, address: "10.128.1.5" };
const pod6: IpvsDestination = { ...pod, address: "fd00:10:128::5" };

function add(server: IpvsServer): IpvsChange {
  return { kind: "add-server", server };
}

function addTo(server: IpvsServer, destination: IpvsDestination): IpvsChange {
  return { kind: "add-destination", server, destination };
}

const given = [add(web), addTo(web, pod)];
const webText = "-A -t 10.96.0.1:80 -s rr";
const podText = "-a -t 10.96.0.1:80 -r 10.128.0.5:8080 -m -w 1";

export const behaviourCases: readonly BehaviourCase[] = [
  { name: "there is nothing at first", changes: [], left: [] },
  {
    name: "servers of every protocol and family, with destinations",
    changes: [
      add(web),
      add(dns),
      add(web6),
      add(sctp),
      addTo(web, pod),
      addTo(web, pod2),
      addTo(dns, { ...pod, port: 5353 }),
      addTo(web6, pod6),
      addTo(sctp, { ...pod, weight: 0 }),
    ],
    left: [
      "-A --sctp-service 10.96.0.1:9999 -s rr",
      "-A -t 10.96.0.1:80 -s rr",
      "-A -t [fd00:10:96::1]:80 -s rr",
      "-A -u 10.96.0.10:53 -s rr",
      "-a --sctp-service 10.96.0.1:9999 -r 10.128.0.5:8080 -m -w 0",
      "-a -t 10.96.0.1:80 -r 10.128.0.5:8080 -m -w 1",
      "-a -t 10.96.0.1:80 -r 10.128.1.5:8080 -m -w 1",
      "-a -t [fd00:10:96::1]:80 -r [fd00:10:128::5]:8080 -m -w 1",
      "-a -u 10.96.0.10:53 -r 10.128.0.5:5353 -m -w 1",
    ],
  },
  {
    name: "settings of a server are set, and are changed without its destinations",
    given,
    changes: [
      { kind: "edit-server", server: { ...web, scheduler: "wrr", persistenceSeconds: 10800 } },
      add({ ...web6, scheduler: "mh", flags: 0x10 }),
      add({ ...dns, persistenceSeconds: 30, persistencePrefix: 24 }),
      add({ ...dns, port: 54, flags: 0x4 }),
    ],
    left: [
      "-A -t 10.96.0.1:80 -s wrr -p 10800",
      "-A -t [fd00:10:96::1]:80 -s mh -b mh-port",
      "-A -u 10.96.0.10:53 -s rr -p 30 -M 255.255.255.0",
      "-A -u 10.96.0.10:54 -s rr -o",
      podText,
    ],
  },
  {
    name: "settings go as they came",
    given: [add({ ...web, persistenceSeconds: 60, persistencePrefix: 16, flags: 0x4 })],
    changes: [{ kind: "edit-server", server: web }],
    left: [webText],
  },
  {
    name: "a destination's weight is changed",
    given,
    changes: [{ kind: "edit-destination", server: web, destination: { ...pod, weight: 0 } }],
    left: [webText, podText.replace("-w 1", "-w 0")],
  },
  {
    name: "destinations and servers are deleted, servers with what they have",
    given: [...given, addTo(web, pod2), add(dns), addTo(dns, pod)],
    changes: [
      { kind: "delete-destination", server: web, destination: pod2 },
      { kind: "delete-server", server: dns },
    ],
    left: [webText, podText],
  },
  {
    name: "what is there is not added again, and the rest is done",
    given,
    changes: [add({ ...web, scheduler: "wrr" }), addTo(web, { ...pod, weight: 5 }), add(dns)],
    refused: [
      [
        0,
        "exists",
        'Cannot add virtual server "10.96.0.1:80/tcp": object exists already (EEXIST)',
      ],
      [
        1,
        "exists",
        'Cannot add destination "10.128.0.5:8080" to virtual server "10.96.0.1:80/tcp": object ' +
        "exists already (EEXIST)",
      ],
    ],
    left: [webText, "-A -u 10.96.0.10:53 -s rr", podText],
  },
  {
    name: "what is not there is neither changed nor deleted",
    given,
    changes: [
      { kind: "edit-server", server: dns },
      { kind: "delete-server", server: dns },
      addTo(dns, pod),
      { kind: "edit-destination", server: web, destination: pod2 },
      { kind: "delete-destination", server: web, destination: pod2 },
    ],
    refused: [
      [
        0,
        "no-server",
        'Cannot change virtual server "10.96.0.10:53/udp": no such object (ESRCH)',
      ],
      [
        1,
        "no-server",
        'Cannot delete virtual server "10.96.0.10:53/udp": no such object (ESRCH)',
      ],
      [
        2,
        "no-server",
        'Cannot add destination "10.128.0.5:8080" to virtual server "10.96.0.10:53/udp": no such ' +
        "object (ESRCH)",
      ],
      [
        3,
        "no-destination",
        'Cannot change destination "10.128.1.5:8080" of virtual server "10.96.0.1:80/tcp": no ' +
        "such object (ENOENT)",
      ],
      [
        4,
        "no-destination",
        'Cannot delete destination "10.128.1.5:8080" of virtual server "10.96.0.1:80/tcp": no ' +
        "such object (ENOENT)",
      ],
    ],
    left: [webText, podText],
  },
  {
    name: "a scheduler that the kernel lacks is named with the way to get it",
    given,
    changes: [add({ ...dns, scheduler: "fair" })],
    refused: [
      [
        0,
        "no-scheduler",
        'Cannot add virtual server "10.96.0.10:53/udp": the kernel has no scheduler "fair": no ' +
        'such object (ENOENT); run "modprobe ip_vs_fair" on the node, or choose another scheduler',
      ],
    ],
    left: [webText, podText],
  },
  {
    name: "an address of many machines is no destination",
    given: [...given, add(web6)],
    changes: [
      addTo(web, { ...pod, address: "224.0.0.9" }),
      addTo(web6, { ...pod, address: "ff02::1" }),
    ],
    refused: [
      [
        0,
        "other",
        'Cannot add destination "224.0.0.9:8080" to virtual server "10.96.0.1:80/tcp": invalid ' +
        "argument (EINVAL)",
      ],
      [
        1,
        "other",
        'Cannot add destination "[ff02::1]:8080" to virtual server "[fd00:10:96::1]:80/tcp": ' +
        "invalid argument (EINVAL)",
      ],
    ],
    left: [webText, "-A -t [fd00:10:96::1]:80 -s rr", podText],
  },
];

/** Runs one case where there is nothing, and leaves nothing. */
export async function checkCase(
  ipvs: Ipvs,
  { changes, given = [], left, refused = [] }: BehaviourCase,
): Promise<void> {
  assert.deepEqual(textsOf(ipvs), []);
  try {
    assert.deepEqual(await ipvs.commit(given), []);
    const failures = await ipvs.commit(changes);
    assert.deepEqual(
      failures.map(({ change, error, refusal }) => [change, refusal, error.message]),
      refused,
    );
    assert.deepEqual(textsOf(ipvs), left);
    for (const { destinations, server } of ipvs.read()) {
      // No bits that are the kernel's own affair: else what is there would always differ.
      assert.equal(server.flags & 0x3, 0);
      const found = ipvs.find(server);
      assert.deepEqual(found?.server, server);
      assert.deepEqual(found?.destinations.toSorted(byAddress), destinations.toSorted(byAddress));
    }
    assert.equal(ipvs.find({ ...web, port: 7 }), undefined);
  } finally {
    await ipvs.commit(ipvs.read().map(({ server }) => ({ kind: "delete-server", server })));
  }
  assert.deepEqual(textsOf(ipvs), []);
}

function byAddress(a: IpvsDestination, b: IpvsDestination): number {
  return a.address < b.address ? -1 : 1;
}

/** The kernel lists by hash, and not always in the same order. */
function sorted(entries: readonly IpvsEntry[]): readonly IpvsEntry[] {
  return entries.toSorted((a, b) => frontendText(a.server) < frontendText(b.server) ? -1 : 1);
}

/** Everything as text, sorted: the kernel lists by hash. */
function textsOf(ipvs: Ipvs): readonly string[] {
  return ipvs.read().flatMap(({ destinations, server }) => [
    serverText(server),
    ...destinations.map((destination) => destinationText(server, destination)),
  ]).sort();
}

/** What is asked of a part is what the whole has of it. */
export async function checkParts(ipvs: Ipvs): Promise<void> {
  assert.deepEqual([...ipvs.firstSchedulers()], []);
  try {
    assert.deepEqual(await ipvs.commit([...given, add(dns), add(web6), addTo(web6, pod6)]), []);
    const all = ipvs.read();
    for (const family of ipFamilies) {
      const ofFamily = all.filter(({ server }) => server.family === family);
      assert.deepEqual(sorted(ipvs.read(family)), sorted(ofFamily));
      assert.ok(ofFamily.some(({ destinations }) => destinations.length > 0));
    }
    assert.deepEqual([...ipvs.firstSchedulers()], ["rr"]);
    assert.equal(ipvs.countMarkServers(), 0);
  } finally {
    await ipvs.commit(ipvs.read().map(({ server }) => ({ kind: "delete-server", server })));
  }
}

/** Timeouts are set one by one or together; 0 and absent leave what is. */
export function checkTimeouts(ipvs: Ipvs): void {
  const before = ipvs.timeouts();
  try {
    ipvs.setTimeouts({ tcp: 1000, tcpFin: 100, udp: 200 });
    assert.deepEqual(ipvs.timeouts(), { tcp: 1000, tcpFin: 100, udp: 200 });
    ipvs.setTimeouts({ udp: 250 });
    ipvs.setTimeouts({ tcp: 0, tcpFin: 90 });
    assert.deepEqual(ipvs.timeouts(), { tcp: 1000, tcpFin: 90, udp: 250 });
  } finally {
    ipvs.setTimeouts(before);
  }
}
