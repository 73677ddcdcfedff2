/**
 * The only list of modes. Settings are here at once; what programs a kernel, and what looks for rules
 * that were left, is imported when it is asked for, so that reading a configuration opens no netlink
 * socket.
 */
import { iptablesConfig } from "./iptables/config.ts";
import { ipvsConfig } from "./ipvs/config.ts";
import type { ModeLeftovers } from "./leftovers.ts";
import { nftablesConfig } from "./nftables/config.ts";
import { winkernelConfig } from "./winkernel/config.ts";
import type { ModeConfig, ModeRuntime } from "./writer.ts";

/** A line each, by the name of its folder, which is that of its section; files show them in this order. */
const modes = {
  nftables: {
    ...nftablesConfig,
    rules: () => import("./nftables/mod.ts"),
    leftovers: () => import("./nftables/leftovers.ts"),
  },
  iptables: {
    ...iptablesConfig,
    rules: () => import("./iptables/mod.ts"),
    leftovers: () => import("./iptables/leftovers.ts"),
  },
  ipvs: {
    ...ipvsConfig,
    rules: () => import("./ipvs/mod.ts"),
    leftovers: () => import("./ipvs/leftovers.ts"),
  },
  winkernel: winkernelConfig,
};

/** Modes that nobody can choose any more, and whose rules may still be on a node. */
const formerModes = {
  userspace: { leftovers: () => import("./userspace/leftovers.ts") },
};

type Modes = typeof modes;

/** A mode as the field `mode` spells it. */
export type ModeName = Modes[keyof Modes]["mode"];

/** The settings of every mode, by the name of their section. */
export type ModeSections = { readonly [K in keyof Modes]: Modes[K]["defaults"] };

/** What the doors of a mode give. */
type Doors<Settings> = ModeConfig<Settings, ModeName> & {
  readonly rules?: () => Promise<{ createRuntime(settings: Settings): ModeRuntime }>;
  readonly leftovers?: () => Promise<{ readonly leftovers: ModeLeftovers }>;
};

const doors: { readonly [K in keyof ModeSections]: Doors<ModeSections[K]> } = modes;

/** The configuration of every mode, by the name of its section. */
export const modeConfigs: {
  readonly [K in keyof ModeSections]: ModeConfig<ModeSections[K], ModeName>;
} = doors;

/** The sections of all modes, in the order of files. */
export const modeSections: readonly (keyof ModeSections)[] = Object.keys(modes).filter(
  isModeSection,
);

/** The modes that a configuration can name, sorted. */
export const modeNames: readonly ModeName[] = namesOf(modeSections);

/** Those that are for Linux, sorted. */
export const linuxModes: readonly ModeName[] = namesOf(
  modeSections.filter((section) => modeConfigs[section].platform !== "windows"),
);

/** The modes that can run, sorted; the others are understood in configurations alone. */
export const runnableModes: readonly ModeName[] = namesOf(
  modeSections.filter((section) => doors[section].rules),
);

/** Whether a mode's settings are below this name. */
export function isModeSection(name: string): name is keyof ModeSections {
  return Object.hasOwn(modes, name);
}

/** The configuration of a mode, or undefined where nobody chose one. */
export function modeConfigOf(mode: ModeName | ""): ModeConfig<unknown, ModeName> | undefined {
  const section = sectionOf(mode);
  return section && modeConfigs[section];
}

/** All settings of which nobody said anything; each call makes new objects. */
export function defaultSections(): ModeSections {
  return Object.assign(
    {},
    ...modeSections.map((name) => ({ [name]: structuredClone(modeConfigs[name].defaults) })),
  );
}

/** Loads a mode's rules, or undefined for a mode that this program cannot run. */
export async function loadRuntime(
  mode: ModeName,
  sections: ModeSections,
): Promise<ModeRuntime | undefined> {
  const section = sectionOf(mode);
  return section && await openRules(section, sections);
}

/** How what a mode may have left is reached, by the name of the mode; nothing is loaded before. */
export const leftoversByMode: ReadonlyMap<string, () => Promise<ModeLeftovers>> = new Map(
  [
    ...modeSections.map((section) =>
      [modeConfigs[section].mode, doors[section].leftovers] as const
    ),
    ...Object.entries(formerModes).map(([mode, { leftovers }]) => [mode, leftovers] as const),
  ].flatMap(([mode, load]) => load ? [[mode, async () => (await load()).leftovers]] : []),
);

async function openRules<K extends keyof ModeSections>(
  section: K,
  sections: ModeSections,
): Promise<ModeRuntime | undefined> {
  const load = doors[section].rules;
  return load && (await load()).createRuntime(sections[section]);
}

function sectionOf(mode: ModeName | ""): keyof ModeSections | undefined {
  return modeSections.find((section) => modeConfigs[section].mode === mode);
}

function namesOf(sections: readonly (keyof ModeSections)[]): readonly ModeName[] {
  return sections.map((section) => modeConfigs[section].mode).sort();
}
