/**
 * The file of a network namespace's proxy: `/run/kube-proxy/INODE.json`, and beside it a lock that a proxy
 * holds while it lives. Best effort: whoever has no such folder goes without.
 */
import { describeError } from "../base/errors.ts";
import { isFile, readFile, removeFile, writeFileAtomicallySync } from "../base/files.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { holdSharedLock, isLockHeld } from "../kernel/shared_lock.ts";
import {
  formatRecord,
  isOf,
  parseRecord,
  type ProxyRecord,
  type RecordScope,
} from "./proxy_record.ts";

/** Where proxies keep their records. */
export const recordFolder = "/run/kube-proxy";

const maxBytes = 1 << 20;

/** What reading it came to. */
export type RecordReading =
  /** None was written, or the one there is about another start of the machine or another namespace. */
  | { readonly kind: "none" }
  /** It cannot be read or understood; the reason is half a sentence. */
  | { readonly kind: "unusable"; readonly reason: string }
  | { readonly kind: "record"; readonly record: ProxyRecord };

/** The record of one network namespace. */
export class RecordFile {
  readonly path: string;
  readonly scope: RecordScope;
  readonly #lock: string;

  private constructor(folder: string, scope: RecordScope) {
    const stem = `${folder}/${scope.namespace.inode}`;
    this.path = `${stem}.json`;
    this.#lock = `${stem}.lock`;
    this.scope = scope;
  }

  /** That of the namespace in which this process works. Throws where the kernel does not tell which that is. */
  static of({ host, self }: Pick<Kernel, "host" | "self">, folder = recordFolder): RecordFile {
    const bootId = host.bootId();
    if (bootId === undefined) throw new Error("the kernel does not tell when it was started");
    return new RecordFile(folder, { bootId, namespace: self.networkNamespace() });
  }

  async read(): Promise<RecordReading> {
    if (!await isFile(this.path)) return { kind: "none" };
    try {
      const bytes = await readFile(this.path, { maxBytes });
      const record = parseRecord(new TextDecoder().decode(bytes));
      return isOf(record, this.scope) ? { kind: "record", record } : { kind: "none" };
    } catch (error) {
      return { kind: "unusable", reason: describeError(error) };
    }
  }

  /** Replaces it at once. Throws `FileError`. */
  replace(record: ProxyRecord): void {
    writeFileAtomicallySync(this.path, formatRecord(record));
  }

  /** Tells everybody that this process lives, until it is disposed or dies. Throws where it cannot. */
  hold(): Disposable {
    return holdSharedLock(this.#lock);
  }

  /** Whether a proxy that keeps its record lives in this namespace; throws where that cannot be told. */
  isHeld(): boolean {
    return isLockHeld(this.#lock);
  }

  /** Removes it and its lock. Throws `FileError`. */
  async remove(): Promise<void> {
    await removeFile(this.path);
    await removeFile(this.#lock);
  }
}
