/**
 * What a proxy notes of itself on its node, so that `cleanup` and others know afterwards what it was and
 * what it changed: one document of JSON. Fields are added under the same schemaVersion, never changed.
 */
import type { NetworkNamespace } from "../kernel/network_namespace.ts";

/** A kernel setting that was changed. */
export interface RecordedSetting {
  /** By its path below /proc/sys: `net/ipv4/conf/all/route_localnet`. */
  readonly setting: string;
  /** What it was before any proxy changed it since the machine was started. */
  readonly before: string;
  /** What the last proxy set it to. */
  readonly after: string;
}

/** Which proxy it is. */
export interface ProxyIdentity {
  /** As `cleanup` spells it. */
  readonly mode: string;
  /** Where its rules are; the name of the mode where that has one place. */
  readonly backend: string;
  /** Of this program. */
  readonly version: string;
  /** As it is numbered where it runs, which may be a container. */
  readonly process: { readonly pid: number; readonly startedAt: string };
}

/** Where and since when a record holds. */
export interface RecordScope {
  readonly bootId: string;
  readonly namespace: NetworkNamespace;
}

/** The whole note. */
export interface ProxyRecord extends ProxyIdentity, RecordScope {
  readonly sysctls: readonly RecordedSetting[];
}

const schemaVersion = 1;

/** As it is written to disk. */
export function formatRecord(record: ProxyRecord): string {
  const { backend, bootId, mode, namespace, process, sysctls, version } = record;
  const fields = { schemaVersion, mode, backend, version, bootId, namespace, process, sysctls };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

/** Reads it; throws a RangeError that says what is wrong with it. */
export function parseRecord(text: string): ProxyRecord {
  const fields = objectOf(parseJson(text), "it");
  if (fields.schemaVersion !== schemaVersion) {
    throw new RangeError(
      `its schemaVersion is ${
        JSON.stringify(fields.schemaVersion)
      }, and this program reads ${schemaVersion}`,
    );
  }
  const namespace = objectOf(fields.namespace, "namespace");
  const process = objectOf(fields.process, "process");
  if (!Array.isArray(fields.sysctls)) throw new RangeError("sysctls is not a list");
  return {
    mode: textOf(fields, "mode"),
    backend: textOf(fields, "backend"),
    version: textOf(fields, "version"),
    bootId: textOf(fields, "bootId"),
    namespace: {
      inode: numberOf(namespace, "inode"),
      ...(namespace.cookie === undefined ? {} : { cookie: textOf(namespace, "cookie") }),
    },
    process: { pid: numberOf(process, "pid"), startedAt: textOf(process, "startedAt") },
    sysctls: fields.sysctls.map(settingOf),
  };
}

/** Whether it was written since this machine was started, and about this very namespace. */
export function isOf(record: RecordScope, { bootId, namespace }: RecordScope): boolean {
  return record.bootId === bootId && record.namespace.inode === namespace.inode &&
    record.namespace.cookie === namespace.cookie;
}

type Fields = Readonly<Record<string, unknown>>;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RangeError("it is not JSON");
  }
}

function settingOf(value: unknown): RecordedSetting {
  const fields = objectOf(value, "an entry of sysctls");
  const setting = textOf(fields, "setting");
  if (!/^net(\/[\w.:@-]+)+$/.test(setting) || setting.split("/").includes("..")) {
    throw new RangeError(`${JSON.stringify(setting)} is no setting of a network namespace`);
  }
  return { setting, before: textOf(fields, "before"), after: textOf(fields, "after") };
}

function objectOf(value: unknown, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value));
  }
  throw new RangeError(`${what} is not an object`);
}

function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  // Whatever is in it is printed or written to the kernel: a line, and no more.
  if (typeof value === "string" && /^[\x20-\x7e\t]{1,300}$/.test(value)) return value;
  throw new RangeError(`${name} is not a line of text`);
}

function numberOf(fields: Fields, name: string): number {
  const value = fields[name];
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`${name} is not a number`);
}
