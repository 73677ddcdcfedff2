/** What the program says about itself. The real logger writes klog text or JSON to stderr; tests collect. */

/** Values that belong to a message, printed as key="value". */
export type LogValues = Readonly<Record<string, unknown>>;

/** Messages are short and constant; what varies goes into the values. Levels are klog's `-v`. */
export interface Logger {
  info(message: string, values?: LogValues): void;
  /** Said only when the verbosity is at least `level`. */
  verbose(level: number, message: string, values?: LogValues): void;
  warning(message: string, values?: LogValues): void;
  /** `error` is the cause; its message is printed, its stack only from verbosity 6 on. */
  error(message: string, error?: unknown, values?: LogValues): void;
  enabled(level: number): boolean;
}
