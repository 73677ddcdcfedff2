import type { Logger, LogValues } from "../../lib/base/log.ts";

/** Collects what is logged, as `level message {values}`. */
export class FakeLogger implements Logger {
  readonly lines: string[] = [];
  readonly errors: unknown[] = [];

  info(message: string, values?: LogValues): void {
    this.#add("info", message, values);
  }

  verbose(level: number, message: string, values?: LogValues): void {
    this.#add(`v${level}`, message, values);
  }

  warning(message: string, values?: LogValues): void {
    this.#add("warning", message, values);
  }

  error(message: string, error?: unknown, values?: LogValues): void {
    this.errors.push(error);
    this.#add("error", message, values);
  }

  enabled(): boolean {
    return true;
  }

  #add(level: string, message: string, values: LogValues = {}): void {
    const words = Object.entries(values).map(([key, value]) => `${key}=${value}`);
    this.lines.push([level, message, ...words].join(" "));
  }
}
