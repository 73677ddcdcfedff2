/**
 * How far a stream has come, in resource versions, and which events of a rewound watch are already
 * known. After namespaces came back, the watch goes on from the oldest version at hand, and each
 * namespace hears only what it has not heard.
 */
import { compareVersions, oldestVersion } from "./resource_version.ts";

interface Replay {
  /** What every namespace has heard that is not in `returned`. */
  readonly floor: string;
  readonly returned: ReadonlyMap<string, string>;
}

/** The versions of one stream. */
export class Progress {
  #version = "";
  #listFrom = "0";
  #replay: Replay | undefined;
  #hasState = false;

  /** Whether a list ever came, so that something is known. */
  get hasState(): boolean {
    return this.#hasState;
  }

  /** The version that a watch goes on from. */
  get version(): string {
    return this.#version;
  }

  /** Whether there is one. */
  get canResume(): boolean {
    return this.#version !== "";
  }

  /** What to ask a list for: never older than what was seen, never slower than needed. */
  get listFrom(): string {
    return this.#listFrom;
  }

  listed(version: string): void {
    this.#hasState = true;
    this.#version = version;
    this.#listFrom = version === "" ? "0" : version;
    this.#replay = undefined;
  }

  /** Resuming is over: list again. `everything`: what was seen is no measure any more either. */
  lost(options: { readonly everything: boolean }): void {
    if (options.everything) this.#listFrom = "";
    else if (this.#version !== "") this.#listFrom = this.#replay?.floor ?? this.#version;
    this.#version = "";
    this.#replay = undefined;
  }

  /** An event arrived. False when its namespace has heard of it before. */
  advanced(namespace: string, version: string): boolean {
    this.#version = version;
    if (!this.#replay) return true;
    const known = this.#replay.returned.get(namespace) ?? this.#replay.floor;
    const isNews = (compareVersions(version, known) ?? 1) > 0;
    this.#endReplay(version);
    return isNews;
  }

  /** The server says how far it is. False when that is behind us: older data replaced its data. */
  bookmarked(version: string): boolean {
    if ((compareVersions(version, this.#version) ?? 0) < 0) return false;
    this.#version = version;
    this.#endReplay(version);
    return true;
  }

  /** Namespaces came back with lists of these versions. */
  rewind(returned: ReadonlyMap<string, string>): void {
    if (returned.size === 0) return;
    const floor = this.#replay?.floor ?? this.#version;
    const merged = new Map([...this.#replay?.returned ?? [], ...returned]);
    this.#replay = { floor, returned: merged };
    this.#version = oldestVersion(this.#version, [...returned.values()]);
  }

  #endReplay(version: string): void {
    if (!this.#replay) return;
    const { floor, returned } = this.#replay;
    const known = [floor, ...returned.values()];
    if (known.every((other) => (compareVersions(version, other) ?? 0) > 0)) {
      this.#replay = undefined;
    }
  }
}
