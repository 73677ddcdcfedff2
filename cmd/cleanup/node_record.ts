/** What `cleanup` takes from the record that this node's proxy keeps, and what it does to it. */
import { describeError } from "../../lib/base/errors.ts";
import { FileError } from "../../lib/base/files.ts";
import type { Kernel } from "../../lib/kernel/kernel.ts";
import type { ProxyRecord } from "../../lib/record/proxy_record.ts";
import { RecordFile } from "../../lib/record/record_file.ts";
import type { ModeLeftovers, ModeSetting } from "../../lib/writers/leftovers.ts";
import type { LeftoverDoors } from "./clean_up.ts";
import { removalWithSettings } from "./settings.ts";

/** The record of the network namespace that is cleaned up. */
export class NodeRecord {
  /** Where it is; undefined where nothing is recorded. */
  readonly #file: RecordFile | undefined;
  #record: ProxyRecord | undefined;

  private constructor(file: RecordFile | undefined, record: ProxyRecord | undefined) {
    this.#file = file;
    this.#record = record;
  }

  /** Reads it. What cannot be used is said to `warn`, and taken as none. */
  static async read(
    { folder, kernel, warn }: {
      readonly folder: string | undefined;
      readonly kernel: Kernel;
      readonly warn: (sentence: string) => void;
    },
  ): Promise<NodeRecord> {
    if (folder === undefined) return new NodeRecord(undefined, undefined);
    try {
      const file = RecordFile.of(kernel, folder);
      const reading = await file.read();
      if (reading.kind === "record") return new NodeRecord(file, reading.record);
      if (reading.kind === "unusable") {
        warn(`Cannot use the record "${file.path}": ${reading.reason}; settings stay as they are`);
      }
      return new NodeRecord(file, undefined);
    } catch (error) {
      warn(`Cannot look for the record of a proxy: ${describeError(error)}`);
      return new NodeRecord(undefined, undefined);
    }
  }

  /** The proxy that lives and keeps this record. */
  get live(): { readonly record: ProxyRecord; readonly path: string } | undefined {
    if (!this.#file || !this.#record) return undefined;
    try {
      return this.#file.isHeld() ? { record: this.#record, path: this.#file.path } : undefined;
    } catch {
      // A file system without locks tells nothing.
      return undefined;
    }
  }

  /** The doors, with the settings of each mode as it set them. */
  async doorsWithSettings(doors: LeftoverDoors): Promise<LeftoverDoors> {
    const needed = await this.#neededSettings(doors);
    return new Map([...doors].map(([mode, load]) => [mode, async () => {
      const door = await load();
      return { ...door, removal: this.#removalOf(door, mode, needed) };
    }]));
  }

  /** Removes it where nothing in it is of use any more: nobody keeps it, and no setting is to go back. */
  async tidy(warn: (sentence: string) => void): Promise<void> {
    if (!this.#file || !this.#record || this.#record.sysctls.length > 0 || this.live) return;
    try {
      await this.#file.remove();
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      warn(describeError(error));
    }
  }

  async #neededSettings(doors: LeftoverDoors): Promise<readonly ModeSetting[]> {
    const mode = this.live?.record.mode;
    const door = mode === undefined ? undefined : await doors.get(mode)?.();
    return door?.settings ?? [];
  }

  #removalOf(door: ModeLeftovers, mode: string, needed: readonly ModeSetting[]) {
    const liveMode = this.live?.record.mode;
    return removalWithSettings(door, {
      mode,
      knowledge: {
        recorded: this.#record?.sysctls ?? [],
        neededFor: (setting) =>
          liveMode !== mode && needed.some((each) => each.setting === setting)
            ? `${liveMode} mode, which runs here, needs it`
            : undefined,
        onPutBack: (settings) => this.#forget(settings),
      },
    });
  }

  /** A record that cannot be written says what is true no longer; its values protect nobody then. */
  #forget(settings: readonly string[]): void {
    if (!this.#file || !this.#record) return;
    const sysctls = this.#record.sysctls.filter(({ setting }) => !settings.includes(setting));
    this.#record = { ...this.#record, sysctls };
    try {
      this.#file.replace(this.#record);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
    }
  }
}
