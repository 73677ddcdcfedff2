/** What `record_protobuf.ts` writes and the tests of the decoders read. */

/** In protobuf the body is base64, in JSON it is the text. */
export interface RecordedAnswer {
  readonly status: number;
  readonly body: string;
}

/** The same question, asked twice. */
export interface BothEncodings {
  readonly protobuf: RecordedAnswer;
  readonly json: RecordedAnswer;
}

export interface RecordedResource {
  readonly list: BothEncodings;
  /** The first of more pages. */
  readonly page: BothEncodings;
  /** A watch while objects came, changed and went. */
  readonly changes: BothEncodings;
  /** A watch that begins with all objects and a bookmark. */
  readonly initial: BothEncodings;
}

/** Refusals by what was asked. The expired version is refused inside of a watch. */
export type RecordedRefusals = Readonly<
  Record<"not found" | "forbidden" | "from the future" | "expired", BothEncodings>
>;

function read(name: string) {
  const file = new URL(`./recorded/protobuf/${name}.json`, import.meta.url);
  return JSON.parse(Deno.readTextFileSync(file));
}

export function recordedResource(name: string): RecordedResource {
  return read(name);
}

export function recordedRefusals(): RecordedRefusals {
  return read("refusals");
}

/** The bytes as they came. */
export function bytesOf(encoding: "protobuf" | "json", { body }: RecordedAnswer): Uint8Array {
  return encoding === "protobuf" ? Uint8Array.fromBase64(body) : new TextEncoder().encode(body);
}
