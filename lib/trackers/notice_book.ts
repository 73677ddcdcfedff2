import { setOf } from "../base/list_of.ts";

/** Something about an object that an operator should read once. */
export interface TrackerNotice {
  /** Kind, namespace and name: `Service shop/web`. */
  readonly subject: string;
  /** What it is about; the same topic is said once for a subject until the subject is forgotten. */
  readonly topic: string;
  /** One sentence. */
  readonly message: string;
}

/** Remembers what was said, so that an object that stays wrong through a thousand updates is one line. */
export class NoticeBook {
  readonly #said = new Map<string, Set<string>>();
  #unread: TrackerNotice[] = [];

  add(notice: TrackerNotice): void {
    const topics = setOf(this.#said, notice.subject);
    if (topics.has(notice.topic)) return;
    topics.add(notice.topic);
    this.#unread.push(notice);
  }

  /** The subject is gone: should it come back wrong, that is worth saying again. */
  forget(subject: string): void {
    this.#said.delete(subject);
  }

  /** Everything added since the last call, in order. */
  take(): readonly TrackerNotice[] {
    const unread = this.#unread;
    this.#unread = [];
    return unread;
  }
}
