/** From the values of files to the internal configuration: defaults are filled here and nowhere else. */
import * as z from "zod";
import { ipFamilyOf, joinHostPort } from "../base/ip.ts";
import type { Given } from "./decode.ts";
import { internalDefaults, type ProxyConfiguration } from "./internal.ts";
import { splitHostPort } from "./rules.ts";
import type { Row, Table } from "./tables.ts";
import { isUnspecified } from "./v1alpha1/fields.ts";

export interface AssembleInput {
  readonly table: Table;
  readonly given: ReadonlyMap<string, Given>;
  /** What an instance says, over everything else; rows of v1alpha2. */
  readonly overrides: ReadonlyMap<string, Given>;
}

/** Where in the files each internal place got its value. */
export type Origins = ReadonlyMap<string, Given>;

export interface Assembled {
  readonly configuration: ProxyConfiguration;
  readonly origins: Origins;
}

/** Total: what could not be decoded has its default. */
export function assemble({ table, given, overrides }: AssembleInput): Assembled {
  const configuration = internalDefaults();
  const origins = new Map<string, Given>();
  const mode = textOf(overrides.get("mode")) ?? textOf(given.get("mode")) ?? "";
  const put = (row: Row, from: Given | undefined) => {
    for (const place of row.to) {
      setAt(configuration, place, valueOf(row, from));
      if (from) origins.set(place, from);
    }
  };
  for (const row of table.rows) if (row.counts(mode)) put(row, given.get(row.path));
  for (const from of overrides.values()) put(from.row, from);
  const bindAddress = textOf(given.get("bindAddress")) ?? "";
  if (isUnspecified(bindAddress)) setAt(configuration, "unspecifiedBindAddress", bindAddress);
  fillAddresses(configuration, origins);
  return { configuration, origins };
}

/** Whether the value is the zero that means the same as nothing. */
export function isUnset({ row, value }: Given): boolean {
  if (value === undefined) return true;
  return row.field.zeroIsUnset && ["", 0, "0s"].includes(encodeValue(row, value));
}

/** What the file says for the value. */
function encodeValue(row: Row, value: unknown): string | number {
  const encoded = z.encode(row.field.type, value);
  return typeof encoded === "number" ? encoded : String(encoded);
}

function valueOf(row: Row, from: Given | undefined): unknown {
  return from === undefined || isUnset(from) ? row.field.default : from.value;
}

function textOf(given: Given | undefined): string | undefined {
  return given?.node.kind === "scalar" && typeof given.node.value === "string"
    ? given.node.value
    : undefined;
}

/** The addresses follow the family of the node's address, and a port is added where there is none. */
function fillAddresses(configuration: ProxyConfiguration, origins: Origins): void {
  const node = configuration.nodeIPOverride[0] ?? configuration.unspecifiedBindAddress;
  const ipv6 = ipFamilyOf(node) === "IPv6";
  const fill = (place: string, value: string, defaults: { any: string; port: number }) => {
    const from = origins.get(place);
    const unset = from === undefined || isUnset(from);
    const text = unset ? joinHostPort(defaults.any, defaults.port) : withPort(value, defaults.port);
    setAt(configuration, place, text);
  };
  fill("healthzBindAddress", configuration.healthzBindAddress, {
    any: ipv6 ? "::" : "0.0.0.0",
    port: 10256,
  });
  fill("metricsBindAddress", configuration.metricsBindAddress, {
    any: ipv6 ? "::1" : "127.0.0.1",
    port: 10249,
  });
}

/** `address:port` for an address that has none; anything else is left for validation. */
function withPort(address: string, port: number): string {
  if (splitHostPort(address) || !ipFamilyOf(address)) return address;
  return joinHostPort(address, port);
}

function setAt(target: object, place: string, value: unknown): void {
  const keys = place.split(".");
  const last = keys.pop() ?? "";
  let object: object = target;
  for (const key of keys) {
    const next: unknown = Reflect.get(object, key);
    if (typeof next !== "object" || next === null) throw new TypeError(`No place "${place}"`);
    object = next;
  }
  Reflect.set(object, last, value);
}
