import assert from "node:assert/strict";
import { LinuxHost } from "../../../lib/kernel/host.ts";
import { LinuxKernel } from "../../../lib/kernel/kernel.ts";
import { KernelFiles } from "../../../lib/kernel/kernel_files.ts";
import { SysctlError } from "../../../lib/kernel/sysctl.ts";

/** A folder that holds another machine's files, by their paths there. */
async function withRoot(
  files: Readonly<Record<string, string>>,
  body: (root: string) => void | Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "kpt-host-" });
  try {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(`${root}${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
      await Deno.writeTextFile(`${root}${path}`, text);
    }
    await body(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const otherMachine = {
  "/proc/sys/kernel/osrelease": "5.10.0-other\n",
  "/proc/sys/net/ipv6/conf/all/disable_ipv6": "0\n",
  // A link to the reader's own namespace: what stands there is not the machine's.
  "/proc/net/if_inet6": "",
  "/proc/thread-self/net/if_inet6": "",
  "/proc/1/net/ip_tables_names": "nat\nfilter\n",
  "/sys/devices/system/cpu/online": "0-7\n",
  "/sys/module/nf_conntrack/parameters/hashsize": "1024\n",
};

Deno.test("another machine's files lie below its root, and its network is that of its first process", () =>
  withRoot(otherMachine, async (root) => {
    await using kernel = new LinuxKernel({ hostRoot: `${root}/` });
    assert.equal(kernel.host.kernelRelease(), "5.10.0-other");
    assert.equal(kernel.host.onlineCpus(), 8);
    assert.equal(kernel.host.ipv6Available(), false);
    assert.equal(kernel.sysctl.read("kernel/osrelease"), "5.10.0-other");
    assert.deepEqual(kernel.legacyTables.loaded("IPv4").toSorted(), ["filter", "nat"]);
    assert.deepEqual(kernel.legacyTables.loaded("IPv6"), []);
    kernel.host.setModuleParameter("nf_conntrack", "hashsize", "2048");
    const hashsize = await Deno.readTextFile(`${root}/sys/module/nf_conntrack/parameters/hashsize`);
    assert.match(hashsize, /^2048/);
  }));

Deno.test("another machine has IPv6 when its first process sees it", () =>
  withRoot({ ...otherMachine, "/proc/1/net/if_inet6": "" }, (root) => {
    assert.equal(new LinuxHost(new KernelFiles(root)).ipv6Available(), true);
  }));

Deno.test("this machine's network is that of this thread", () => {
  const files = new KernelFiles();
  assert.equal(files.readNet("dev"), files.read("/proc/thread-self/net/dev"));
  assert.ok(files.readNet("dev")?.includes("lo:"));
});

Deno.test("the head of a long file is read alone", () =>
  withRoot({ "/proc/1/net/ip_vs": "IP Virtual Server\n".repeat(10_000) }, (root) => {
    const files = new KernelFiles(root);
    assert.equal(files.readNetHead("ip_vs", 20), "IP Virtual Server\nIP");
    assert.equal(files.readNetHead("ip_vs")?.length, 256);
    assert.equal(files.readNetHead("ip_vs_conn"), undefined);
  }));

Deno.test("a file that is not there is undefined to read, and an error to write", () =>
  withRoot({ "/proc/sys/a": "1\n" }, (root) => {
    const files = new KernelFiles(root);
    assert.equal(files.read("/proc/sys/a", "a"), "1");
    assert.equal(files.read("/proc/sys/b", "b"), undefined);
    assert.throws(
      () => files.write("/proc/sys/b", "b", "2"),
      (error) =>
        error instanceof SysctlError && error.fault === "absent" && error.setting === "b" &&
        /^Cannot set "b" to "2": .*; load the kernel module it belongs to$/.test(error.message),
    );
    assert.throws(
      () => files.read("/proc/sys", "settings"),
      (error) => error instanceof SysctlError && error.message.startsWith('Cannot read "settings"'),
    );
  }));
