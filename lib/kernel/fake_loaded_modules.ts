import type { LoadedModule, LoadedModules } from "./loaded_modules.ts";

/** Modules in memory; one that has users stays. */
export class FakeLoadedModules implements LoadedModules {
  /** The one that was loaded last comes first. */
  list: readonly LoadedModule[];

  constructor(list: readonly LoadedModule[] = []) {
    this.list = list;
  }

  loaded(): readonly LoadedModule[] {
    return this.list;
  }

  unload(name: string): boolean {
    const found = this.list.find((each) => each.name === name);
    if (found && found.users > 0) return false;
    this.list = this.list.filter((each) => each.name !== name);
    return true;
  }
}
