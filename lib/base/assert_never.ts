/** Ends a `switch` over a union: the compiler refuses the call while a case is missing. */
export function assertNever(value: never): never {
  throw new TypeError(`Unexpected value ${JSON.stringify(value)}`);
}
