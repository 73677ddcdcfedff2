/**
 * What the API puts round its messages in protobuf:
 *
 *   body:      "k8s\0" + Unknown { TypeMeta typeMeta = 1 { apiVersion = 1; kind = 2 }; bytes raw = 2 }
 *   list:      a body whose raw is { ListMeta metadata = 1; repeated bytes items = 2 }
 *   watch:     frames of a big-endian uint32 length + WatchEvent { string type = 1;
 *              RawExtension object = 2 { bytes raw = 1 } }, each raw being a body again
 */
import { type ApiStatus, emptyStatus } from "../status.ts";
import { emptyMeta, readOnlyMeta } from "./object_meta.ts";
import { MalformedMessageError, Reader, type TextCache } from "./reader.ts";

/** In front of every body. */
export const magic: readonly number[] = [0x6b, 0x38, 0x73, 0x00];

const initialEventsEnd = "k8s.io/initial-events-end";

/** A message taken out of its envelope. */
export interface Body {
  readonly kind: string;
  readonly raw: Uint8Array;
}

/** Takes the envelope off. */
export function readBody(bytes: Uint8Array, cache: TextCache): Body {
  if (!magic.every((byte, i) => bytes[i] === byte)) {
    throw new MalformedMessageError("it does not begin as the API's messages do");
  }
  const reader = new Reader(bytes.subarray(magic.length), cache);
  const end = reader.length;
  let kind = "";
  let raw: Uint8Array = new Uint8Array();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) kind = readKind(reader);
    else if (field === 2) raw = reader.bytes();
    else reader.skip();
  }
  return { kind, raw };
}

/** One frame of a watch, its object still undecoded. `type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR. */
export interface WatchFrame {
  readonly type: string;
  readonly body: Body;
}

/** Decodes the content of one frame. */
export function readWatchFrame(bytes: Uint8Array, cache: TextCache): WatchFrame {
  const reader = new Reader(bytes, cache);
  const end = reader.length;
  let type = "";
  let raw: Uint8Array = new Uint8Array();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) type = reader.sharedText();
    else if (field === 2) raw = readRawExtension(reader);
    else reader.skip();
  }
  return { type, body: readBody(raw, cache) };
}

/** What a BOOKMARK says: how far the watch has come. */
export interface Bookmark {
  readonly resourceVersion: string;
  /** The last of the initial events of a streaming list. */
  readonly endsInitialEvents: boolean;
}

/** Decodes the object of a BOOKMARK, whatever its kind. */
export function readBookmark(raw: Uint8Array, cache: TextCache): Bookmark {
  const keys = new Set([initialEventsEnd]);
  const { resourceVersion, values } = readOnlyMeta(new Reader(raw, cache), keys) ?? emptyMeta;
  return { resourceVersion, endsInitialEvents: values.get(initialEventsEnd) === "true" };
}

/** Decodes a `Status`. */
export function readStatus(raw: Uint8Array, cache: TextCache): ApiStatus {
  const reader = new Reader(raw, cache);
  const end = reader.length;
  let status = emptyStatus;
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 3) status = { ...status, message: reader.text() };
    else if (field === 4) status = { ...status, reason: reader.text() };
    else if (field === 5) status = { ...status, ...readStatusDetails(reader) };
    else if (field === 6) status = { ...status, code: reader.int32() };
    else reader.skip();
  }
  return status;
}

/** StatusDetails { repeated StatusCause causes = 4 { reason = 1 }; int32 retryAfterSeconds = 5 } */
function readStatusDetails(reader: Reader): Pick<ApiStatus, "cause" | "retryAfterMs"> {
  let cause = "";
  let retryAfterMs = 0;
  const end = reader.enter();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 4) cause ||= readText(reader, 1);
    else if (field === 5) retryAfterMs = reader.int32() * 1000;
    else reader.skip();
  }
  return { cause, retryAfterMs };
}

/** ListMeta { string resourceVersion = 2; string continue = 3 } */
export interface ListMeta {
  readonly resourceVersion: string;
  /** Asks for the next page; empty on the last. */
  readonly continueToken: string;
}

/** Decodes a list's metadata. */
export function readListMeta(raw: Uint8Array, cache: TextCache): ListMeta {
  const reader = new Reader(raw, cache);
  const end = reader.length;
  let resourceVersion = "";
  let continueToken = "";
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 2) resourceVersion = reader.text();
    else if (field === 3) continueToken = reader.text();
    else reader.skip();
  }
  return { resourceVersion, continueToken };
}

function readKind(reader: Reader): string {
  return readText(reader, 2);
}

function readRawExtension(reader: Reader): Uint8Array {
  const end = reader.enter();
  let raw: Uint8Array = new Uint8Array();
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) raw = reader.bytes();
    else reader.skip();
  }
  return raw;
}

/** The text of one field of a nested message. */
function readText(reader: Reader, wanted: number): string {
  const end = reader.enter();
  let text = "";
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === wanted) text = reader.sharedText();
    else reader.skip();
  }
  return text;
}
