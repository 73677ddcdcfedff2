/** The kernel's modules. */
import {
  type ModuleInventory,
  readModuleInventory,
} from "../../kernel/inspection/module_inventory.ts";
import type { KernelFiles } from "../../kernel/kernel_files.ts";
import type { FactReader } from "../fact.ts";
import { known } from "./known.ts";

/** Reads which there are; loads none. */
export function modulesReader(files: KernelFiles): FactReader<ModuleInventory> {
  return { read: async () => known(await readModuleInventory(files)) };
}
