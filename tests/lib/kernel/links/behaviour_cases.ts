/** What happens to a link and its addresses: the same steps on the fake and on real kernels. */
import assert from "node:assert/strict";
import { Errno } from "../../../../lib/kernel/errno.ts";
import type { AddressChange, Links } from "../../../../lib/kernel/links/links.ts";

const name = "kube-ipvs0";
const noChange = { prefixLength: 32, kind: "add" } as const;

/** A link is made once, takes addresses in both families, gives them back, and goes with the rest. */
export async function checkDummyLink(links: Links): Promise<void> {
  assert.equal(links.find(name), undefined);
  assert.equal(links.remove(name), false);
  const link = links.ensureDummy(name);
  try {
    assert.deepEqual(link, { index: link.index, name, kind: "dummy", up: false });
    assert.deepEqual(links.ensureDummy(name), link);
    assert.deepEqual(links.find(name), link);
    const own = () =>
      links.addresses().filter(({ linkName }) => linkName === name)
        .map(({ ip, prefixLength, scope }) => `${ip}/${prefixLength} ${scope}`);
    const many = Array.from({ length: 450 }, (_, index): AddressChange => ({
      ...noChange,
      linkIndex: link.index,
      ip: `10.97.${index >> 8}.${index & 255}`,
    }));
    const v6 = {
      kind: "add",
      linkIndex: link.index,
      ip: "fd00:10:96::1",
      prefixLength: 128,
    } as const;
    assert.deepEqual(await links.changeAddresses([]), []);
    assert.deepEqual(await links.changeAddresses([...many, v6, many[0], v6]), []);
    assert.deepEqual(
      own().sort(),
      [...many.map(({ ip }) => `${ip}/32 global`), "fd00:10:96::1/128 global"].sort(),
    );
    const removals = [...many.slice(1), many[1], v6].map((each) => ({
      ...each,
      kind: "delete" as const,
    }));
    assert.deepEqual(await links.changeAddresses(removals), []);
    assert.deepEqual(own(), ["10.97.0.0/32 global"]);
  } finally {
    assert.equal(links.remove(name), true);
  }
  assert.equal(links.find(name), undefined);
  assert.deepEqual(links.addresses().filter(({ ip }) => ip === "10.97.0.0"), []);
}

/** What is refused is told with the address, and the rest is done. */
export async function checkRefusedAddresses(links: Links): Promise<void> {
  const { index: linkIndex } = links.ensureDummy(name);
  try {
    const failures = await links.changeAddresses([
      { ...noChange, linkIndex: 60_000, ip: "10.97.0.1" },
      { ...noChange, linkIndex, ip: "10.97.0.2" },
    ]);
    assert.deepEqual(failures.map(({ change, error }) => [change, error.errno]), [
      [0, Errno.ENODEV],
    ]);
    // Newer kernels say more.
    assert.match(
      failures[0].error.message,
      /^Cannot add address "10\.97\.0\.1\/32": .*\(ENODEV\)$/,
    );
    assert.deepEqual(
      links.addresses("IPv4").filter(({ linkName }) => linkName === name).map(({ ip }) => ip),
      ["10.97.0.2"],
    );
  } finally {
    links.remove(name);
  }
}

/** The source of the route by which the kernel takes what comes for the address; as it shows it. */
export function routeTo(links: Links, ip: string): string | undefined {
  const [first] = links.routes().filter(({ destination, table }) =>
    table === 255 && destination.startsWith(`${ip}/`)
  );
  return first && (first.source ?? ip);
}

/** Programs reach an address from the source that they are given, until it goes, alone or with its link. */
export async function checkPreferredSources(
  links: Links,
  sourceOf: (ip: string) => string | undefined,
): Promise<void> {
  const { index: linkIndex } = links.ensureDummy(name);
  const own = [
    { ip: "10.97.0.1", prefixLength: 32, source: "127.0.0.1" },
    { ip: "fd00:10:97::1", prefixLength: 128, source: "::1" },
  ];
  const change = (kind: AddressChange["kind"]) =>
    links.changeAddresses(
      own.map(({ ip, prefixLength }) => ({ kind, linkIndex, ip, prefixLength })),
    );
  const prefer = (sources = own.map(({ source }) => source)) =>
    links.preferSources(own.map(({ ip }, at) => ({ linkIndex, ip, source: sources[at] })));
  const sources = () => own.map(({ ip }) => sourceOf(ip));
  try {
    assert.deepEqual(await change("add"), []);
    const refused = await prefer(["192.0.2.1", "2001:db8::1"]);
    assert.deepEqual(refused.map((each) => [each.change, each.error.errno]), [
      [0, Errno.EINVAL],
      [1, Errno.EINVAL],
    ]);
    assert.match(
      refused[1].error.message,
      /^Cannot have programs of this machine reach "fd00:10:97::1" from "2001:db8::1": /,
    );
    const before = sources();
    assert.deepEqual(await links.preferSources([]), []);
    // A second time changes nothing.
    for (let time = 0; time < 2; time++) {
      assert.deepEqual(await prefer(), []);
      assert.deepEqual(sources(), ["127.0.0.1", "::1"]);
    }
    assert.deepEqual(await change("delete"), []);
    assert.deepEqual(sources(), [undefined, undefined]);
    assert.deepEqual(await change("add"), []);
    assert.deepEqual(sources(), before);
    assert.deepEqual(await prefer(), []);
  } finally {
    links.remove(name);
  }
  assert.deepEqual(sources(), [undefined, undefined]);
}
