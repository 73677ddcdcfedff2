/** Keeps the record of the proxy that this process is. */
import { describeError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { ProxyIdentity, ProxyRecord, RecordedSetting } from "./proxy_record.ts";
import { RecordFile } from "./record_file.ts";
import { recordedKernel } from "./recorded_kernel.ts";

/** Whose record, and where. */
export interface RecordKeeperOptions {
  readonly folder: string;
  readonly kernel: Kernel;
  readonly identity: ProxyIdentity;
  readonly logger: Logger;
}

/** A record that is kept, until it is disposed; the file stays. */
export interface KeptRecord extends Disposable {
  /** The kernel to change settings through: each is written down before it is changed. */
  readonly kernel: Kernel;
}

/**
 * Writes down who runs here. What earlier proxies noted of settings since the machine was started stays:
 * the first value is what was there before. Where nothing can be written, that is said once, and the
 * proxy runs all the same.
 */
export async function keepRecord(options: RecordKeeperOptions): Promise<KeptRecord> {
  const { folder, identity, kernel, logger } = options;
  const told = new Set<string>();
  const attempt = <T>(action: () => T): T | undefined => {
    try {
      return action();
    } catch (error) {
      const reason = describeError(error);
      if (!told.has(reason)) logger.warning(consequence, { reason });
      told.add(reason);
      return undefined;
    }
  };
  const file = attempt(() => RecordFile.of(kernel, folder));
  if (!file) return { kernel, [Symbol.dispose]: () => {} };
  const reading = await file.read();
  if (reading.kind === "unusable") {
    logger.warning("Replaced a record that cannot be used", {
      file: file.path,
      reason: reading.reason,
    });
  }
  const settings = new Map<string, RecordedSetting>(
    reading.kind === "record" ? reading.record.sysctls.map((each) => [each.setting, each]) : [],
  );
  const write = () =>
    attempt(() => {
      const record: ProxyRecord = { ...identity, ...file.scope, sysctls: [...settings.values()] };
      file.replace(record);
      return true;
    });
  // The lock's folder comes with the first record.
  const lock = write() ? attempt(() => file.hold()) : undefined;
  return {
    kernel: recordedKernel(kernel, ({ after, before, setting }) => {
      settings.set(setting, { setting, before: settings.get(setting)?.before ?? before, after });
      write();
    }),
    [Symbol.dispose]: () => lock?.[Symbol.dispose](),
  };
}

const consequence =
  "Cannot keep a record of this proxy: kube-proxy cleanup will not know what the " +
  "kernel's settings were before";
