import assert from "node:assert/strict";
import { KernelFiles } from "../../../lib/kernel/kernel_files.ts";
import { inFolder } from "../../fakes/folder.ts";
import { countCpuList, countKernelBytes, LinuxHost } from "../../../lib/kernel/host.ts";

const lists: readonly { list: string; cpus: number }[] = [
  { list: "0", cpus: 1 },
  { list: "0-3", cpus: 4 },
  { list: "0-3,8,10-11\n", cpus: 7 },
  { list: "0,2,4", cpus: 3 },
  { list: "", cpus: 0 },
  { list: "3-0", cpus: 0 },
  { list: "0-3,x", cpus: 0 },
];

for (const { cpus, list } of lists) {
  Deno.test(`countCpuList() counts ${cpus} in ${JSON.stringify(list)}`, () => {
    assert.equal(countCpuList(list), cpus);
  });
}

/** A machine whose files have these texts. */
function hostWith(files: Readonly<Record<string, string>>, test: (host: LinuxHost) => void) {
  return inFolder(async (root) => {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(root + path.slice(0, path.lastIndexOf("/")), { recursive: true });
      await Deno.writeTextFile(root + path, text);
    }
    test(new LinuxHost(new KernelFiles(root)));
  });
}

Deno.test("LinuxHost reads another machine's files", () =>
  hostWith({
    "/sys/devices/system/cpu/online": "0-5\n",
    "/proc/sys/kernel/osrelease": "6.1.0-other\n",
    "/proc/sys/kernel/random/boot_id": "0a1b\n",
    "/proc/1/net/if_inet6": "",
    "/proc/sys/net/ipv6/conf/all/disable_ipv6": "0\n",
    "/sys/module/nf_conntrack/parameters/hashsize": "65536\n",
    "/sys/module/nfnetlink_acct/refcnt": "1\n",
  }, (host) => {
    assert.equal(host.isModuleLoaded("nfnetlink_acct"), true);
    assert.equal(host.isModuleLoaded("nfnetlink_log"), false);
    assert.equal(host.bootId(), "0a1b");
    assert.equal(host.onlineCpus(), 6);
    assert.equal(host.kernelRelease(), "6.1.0-other");
    assert.equal(host.ipv6Available(), true);
    assert.equal(host.moduleParameter("nf_conntrack", "hashsize"), "65536");
    host.setModuleParameter("nf_conntrack", "hashsize", "131072");
    assert.match(host.moduleParameter("nf_conntrack", "hashsize") ?? "", /^131072/);
    assert.throws(() => host.setModuleParameter("nf_conntrack", "none", "1"), {
      message: /^Cannot set "nf_conntrack.none" to "1": .*; load the kernel module it belongs to$/,
    });
  }));

Deno.test("LinuxHost has no IPv6 where the kernel has none or it is switched off", async () => {
  await hostWith({}, (host) => assert.equal(host.ipv6Available(), false));
  await hostWith({
    "/proc/1/net/if_inet6": "",
    "/proc/sys/net/ipv6/conf/all/disable_ipv6": "1\n",
  }, (host) => assert.equal(host.ipv6Available(), false));
});

Deno.test("LinuxHost counts as the runtime does where the kernel tells no CPUs", async () => {
  const counted = navigator.hardwareConcurrency;
  await hostWith({}, (host) => assert.equal(host.onlineCpus(), counted));
  await hostWith(
    { "/sys/devices/system/cpu/online": "x" },
    (host) => assert.equal(host.onlineCpus(), counted),
  );
  await hostWith({}, (host) => assert.equal(host.kernelRelease(), Deno.osRelease()));
});

Deno.test("LinuxHost knows its machine", () => {
  const host = new LinuxHost();
  assert.ok(host.onlineCpus() >= 1);
  assert.equal(host.kernelRelease(), Deno.osRelease());
  assert.equal(host.moduleParameter("no_such_module", "x"), undefined);
});

Deno.test("countKernelBytes() adds up what the kernel keeps for itself", () => {
  const text = "MemTotal: 99 kB\nSlab: 50 kB\nSReclaimable: 20 kB\nSUnreclaim:     30 kB\n" +
    "VmallocTotal: 9999 kB\nVmallocUsed:    4 kB\nPercpu:   2 kB\n";
  assert.equal(countKernelBytes(text), 36 * 1024);
  assert.equal(countKernelBytes("SUnreclaim: many\n"), 0);
});

Deno.test("kernelBytes() reads the machine's account, and 0 where there is none", async () => {
  await hostWith({ "/proc/meminfo": "Percpu:   2 kB\n" }, (host) => {
    assert.equal(host.kernelBytes(), 2048);
  });
  await hostWith({}, (host) => assert.equal(host.kernelBytes(), 0));
});
