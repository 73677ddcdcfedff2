/** What changes do to sets, and what is refused: the same cases run on the fake and on real kernels. */
import assert from "node:assert/strict";
import type {
  Ipset,
  IpsetChange,
  IpsetDefinition,
  IpsetRefusal,
} from "../../../../lib/kernel/ipset/ipset.ts";

export interface BehaviourCase {
  readonly name: string;
  /** Committed first, and taken. */
  readonly given?: readonly IpsetChange[];
  readonly changes: readonly IpsetChange[];
  /** What is refused: the change by its index, the member if it is one. */
  readonly refused?: readonly (readonly [
    change: number,
    member: string | undefined,
    refusal: IpsetRefusal,
    message: string,
  ])[];
  /** The sets in the end with their members, both sorted. */
  readonly left: Readonly<Record<string, readonly string[]>>;
}

export const services = {
  name: "KUBE-CLUSTER-IP",
  type: "hash:ip,port",
  family: "IPv4",
} as const satisfies IpsetDefinition;
const services6 = { ...services, name: "KUBE-6-CLUSTER-IP", family: "IPv6" } as const;
const ports = { name: "KUBE-NODE-PORT-TCP", type: "bitmap:port" } as const;
const addresses = { name: "KUBE-IPVS-IPS", type: "hash:ip", family: "IPv4" } as const;

/** A set of each type in each family, with members of every shape. */
export const sampleSets: readonly { set: IpsetDefinition; members: readonly string[] }[] = [
  { set: services, members: ["10.96.0.1,sctp:9999", "10.96.0.1,tcp:80", "10.96.0.10,udp:53"] },
  { set: services6, members: ["fd00:10:96::1,tcp:65535", "fd00:10:96::1,udp:1"] },
  { set: ports, members: ["0", "30080", "65535"] },
  { set: addresses, members: ["10.96.0.1", "255.255.255.255"] },
  {
    set: { ...addresses, name: "KUBE-6-IPVS-IPS", family: "IPv6" },
    members: ["::1", "fd00:10:96::1"],
  },
  {
    set: { name: "KUBE-LOOP-BACK", type: "hash:ip,port,ip", family: "IPv4" },
    members: ["10.128.0.5,tcp:8080,10.128.0.5", "10.128.0.5,udp:53,10.128.0.6"],
  },
  {
    set: { name: "KUBE-6-LOOP-BACK", type: "hash:ip,port,ip", family: "IPv6" },
    members: ["fd00:10:128::5,tcp:8080,fd00:10:128::5"],
  },
  {
    set: { name: "KUBE-LOAD-BALANCER-SOURCE-CIDR", type: "hash:ip,port,net", family: "IPv4" },
    members: [
      "203.0.113.1,tcp:80,10.0.0.0/8",
      "203.0.113.1,tcp:80,192.0.2.7",
      "203.0.113.1,udp:80,128.0.0.0/1",
    ],
  },
  {
    set: { name: "KUBE-6-LOAD-BALANCER-SOURCE-CID", type: "hash:ip,port,net", family: "IPv6" },
    members: ["2001:db8::1,sctp:80,2001:db8::7", "2001:db8::1,tcp:80,2001:db8::/32"],
  },
];

function create(set: IpsetDefinition): IpsetChange {
  return { kind: "create", set };
}

function add(set: IpsetDefinition, ...members: readonly string[]): IpsetChange {
  return { kind: "add-members", set, members };
}

function remove(set: IpsetDefinition, ...members: readonly string[]): IpsetChange {
  return { kind: "delete-members", set, members };
}

const many = Array.from({ length: 2000 }, (_, index) => `10.97.${index >> 8}.${index & 255},tcp:80`)
  .sort();

export const behaviourCases: readonly BehaviourCase[] = [
  { name: "there is nothing at first", changes: [], left: {} },
  {
    name: "sets of every type, with members",
    changes: sampleSets.flatMap(({ members, set }) => [create(set), add(set, ...members)]),
    left: Object.fromEntries(sampleSets.map(({ members, set }) => [set.name, members])),
  },
  {
    name: "every member is deleted as it was added",
    given: sampleSets.flatMap(({ members, set }) => [create(set), add(set, ...members)]),
    changes: sampleSets.map(({ members, set }) => remove(set, ...members)),
    left: Object.fromEntries(sampleSets.map(({ set }) => [set.name, []])),
  },
  {
    name: "more members than one message takes",
    changes: [create(services), add(services, ...many)],
    left: { [services.name]: many },
  },
  {
    name: "a set that is there keeps its members, and takes those that it has",
    given: [create(services), add(services, "10.96.0.1,tcp:80")],
    changes: [create(services), add(services, "10.96.0.1,tcp:80", "10.96.0.2,tcp:80")],
    left: { [services.name]: ["10.96.0.1,tcp:80", "10.96.0.2,tcp:80"] },
  },
  {
    name: "members that are not there are deleted without a word",
    given: [create(services), add(services, "10.96.0.1,tcp:80")],
    changes: [remove(services, "10.96.0.9,tcp:80", "10.96.0.1,tcp:80", "10.96.0.8,tcp:80")],
    left: { [services.name]: [] },
  },
  {
    name: "sets are emptied and destroyed",
    given: [create(services), create(ports), add(services, "10.96.0.1,tcp:80"), add(ports, "80")],
    changes: [{ kind: "flush", name: ports.name }, { kind: "destroy", name: services.name }],
    left: { [ports.name]: [] },
  },
  {
    name: "a set of our name that is another one is left alone, and both are named",
    given: [create({ ...addresses, name: services.name }), create(ports)],
    changes: [create(services), create({ ...services, name: ports.name }), create(addresses)],
    refused: [
      [
        0,
        undefined,
        "other-set",
        'Cannot create set "KUBE-CLUSTER-IP" of type "hash:ip,port family inet": a set of that ' +
        'name is "hash:ip family inet"; destroy or rename that one ("ipset destroy ' +
        "KUBE-CLUSTER-IP\"), which is not this program's",
      ],
      [
        1,
        undefined,
        "other-set",
        'Cannot create set "KUBE-NODE-PORT-TCP" of type "hash:ip,port family inet": a set of that ' +
        'name is "bitmap:port"; destroy or rename that one ("ipset destroy KUBE-NODE-PORT-TCP"), ' +
        "which is not this program's",
      ],
    ],
    left: { [services.name]: [], [ports.name]: [], [addresses.name]: [] },
  },
  {
    name: "a set of the other family is another one",
    given: [create({ ...services, family: "IPv6" })],
    changes: [create(services)],
    refused: [
      [
        0,
        undefined,
        "other-set",
        'Cannot create set "KUBE-CLUSTER-IP" of type "hash:ip,port family inet": a set of that ' +
        'name is "hash:ip,port family inet6"; destroy or rename that one ("ipset destroy ' +
        "KUBE-CLUSTER-IP\"), which is not this program's",
      ],
    ],
    left: { [services.name]: [] },
  },
  {
    name: "nothing is done to a set that is not there",
    changes: [
      add(services, "10.96.0.1,tcp:80"),
      remove(services, "10.96.0.1,tcp:80"),
      add(services),
      { kind: "flush", name: services.name },
      { kind: "destroy", name: services.name },
      create(ports),
    ],
    refused: [
      [
        0,
        undefined,
        "no-set",
        'Cannot add members to set "KUBE-CLUSTER-IP": no such object (ENOENT)',
      ],
      [
        1,
        undefined,
        "no-set",
        'Cannot delete members of set "KUBE-CLUSTER-IP": no such object (ENOENT)',
      ],
      [3, undefined, "no-set", 'Cannot empty set "KUBE-CLUSTER-IP": no such object (ENOENT)'],
    ],
    left: { [ports.name]: [] },
  },
  {
    name: "members beside a refused one are added",
    given: [create(addresses)],
    changes: [add(addresses, "10.96.0.1", "0.0.0.0", "10.96.0.2", "0.0.0.0", "10.96.0.3")],
    refused: [1, 3].map(() => [
      0,
      "0.0.0.0",
      "other",
      'Cannot add "0.0.0.0" to set "KUBE-IPVS-IPS": the kernel takes no member that is all zeros ' +
      "(ipset error 4353)",
    ]),
    left: { [addresses.name]: ["10.96.0.1", "10.96.0.2", "10.96.0.3"] },
  },
  {
    name: "a range of everything is refused, and named",
    given: [create({ ...services, name: "RANGES", type: "hash:ip,port,net" })],
    changes: [
      add(
        { ...services, name: "RANGES", type: "hash:ip,port,net" },
        "203.0.113.1,tcp:80,0.0.0.0/0",
        "203.0.113.1,tcp:80,0.0.0.0/1",
      ),
    ],
    refused: [
      [
        0,
        "203.0.113.1,tcp:80,0.0.0.0/0",
        "other",
        'Cannot add "203.0.113.1,tcp:80,0.0.0.0/0" to set "RANGES": the prefix length is out of ' +
        "range (ipset error 4104)",
      ],
    ],
    left: { RANGES: ["203.0.113.1,tcp:80,0.0.0.0/1"] },
  },
];

/** Runs one case where there are no sets, and leaves none. */
export async function checkCase(
  ipset: Ipset,
  { changes, given = [], left, refused = [] }: BehaviourCase,
): Promise<void> {
  assert.deepEqual(ipset.list(), []);
  try {
    assert.deepEqual(await ipset.commit(given), []);
    const failures = await ipset.commit(changes);
    assert.deepEqual(
      failures.map((each) => [each.change, each.member, each.refusal, each.message]),
      refused,
    );
    assert.deepEqual(membersOf(ipset), left);
    checkIndexes(ipset);
  } finally {
    await ipset.commit(ipset.list().map(({ name }) => ({ kind: "destroy", name })));
  }
  assert.deepEqual(ipset.list(), []);
}

/** Sets are found by name and by number, and nothing else is. */
function checkIndexes(ipset: Ipset): void {
  const sets = ipset.list();
  const indexes = sets.map(({ name }) => ipset.indexOf(name) ?? -1);
  assert.equal(new Set(indexes).size, sets.length);
  assert.deepEqual(indexes.map((index) => ipset.nameOf(index)), sets.map(({ name }) => name));
  assert.equal(ipset.indexOf("NONE"), undefined);
  assert.equal(ipset.nameOf(60_000), undefined);
  assert.equal(ipset.members("NONE"), undefined);
}

function membersOf(ipset: Ipset): Record<string, readonly string[]> {
  return Object.fromEntries(
    ipset.list().map(({ memberCount, name }) => {
      const members = [...ipset.members(name) ?? []].sort();
      assert.equal(memberCount, members.length, name);
      return [name, members];
    }),
  );
}

/**
 * A set takes 65,536 members, and a few more: the kernel counts them in regions, and a region that has
 * room takes one. From the first that has none on, each is named.
 */
export async function checkFullSet(ipset: Ipset): Promise<void> {
  const members = Array.from(
    { length: 66_000 },
    (_, index) => `10.${100 + (index >> 16)}.${(index >> 8) & 255}.${index & 255},tcp:80`,
  );
  try {
    await ipset.commit([create(services), create(ports)]);
    const failures = await ipset.commit([add(services, ...members), add(ports, "80")]);
    const taken = members.length - failures.length;
    assert.ok(taken >= 65_536 && taken < 65_600, `${taken} members`);
    const held = ipset.members(services.name);
    assert.equal(held?.size, taken);
    assert.ok(members.slice(0, taken).every((member) => held.has(member)));
    assert.deepEqual(
      failures,
      members.slice(taken).map((member) => ({
        change: 0,
        member,
        refusal: "full",
        message: `Cannot add "${member}" to set "KUBE-CLUSTER-IP": the set is full with 65536 ` +
          "members (ipset error 4352)",
      })),
    );
    assert.deepEqual([...ipset.members(ports.name) ?? []], ["80"]);
  } finally {
    await ipset.commit([services, ports].map(({ name }) => ({ kind: "destroy", name })));
  }
}
