/** The API's own way to say that something went wrong: meta/v1 `Status`, and the error made of it. */

/** The fields of a Status that anybody acts on. */
export interface ApiStatus {
  readonly code: number;
  /** A word such as `Expired`, `Forbidden`, `TooManyRequests`. */
  readonly reason: string;
  readonly message: string;
  /** 0 when the server does not ask for a pause. */
  readonly retryAfterMs: number;
  /** The list's or bookmark's cause such as `ResourceVersionTooLarge`; empty when there is none. */
  readonly cause: string;
}

export const emptyStatus: ApiStatus = {
  code: 0,
  reason: "",
  message: "",
  retryAfterMs: 0,
  cause: "",
};

/** The apiserver answered, and the answer is a refusal. */
export class ApiError extends Error {
  readonly status: ApiStatus;

  constructor(message: string, status: ApiStatus) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }

  /** The resource version asked for is too old to go on from: list again. */
  get isExpired(): boolean {
    return this.status.code === 410 || this.status.reason === "Expired" ||
      this.status.reason === "Gone";
  }

  /** The resource version asked for lies in the server's future: its data was restored or replaced. */
  get isFromTheFuture(): boolean {
    return this.status.cause === "ResourceVersionTooLarge" ||
      this.status.message.includes("Too large resource version");
  }

  get isForbidden(): boolean {
    return this.status.code === 403;
  }

  get isNotFound(): boolean {
    return this.status.code === 404;
  }

  /** The server serves, but not now. */
  get isOverloaded(): boolean {
    return this.status.code === 429 || this.status.code >= 500;
  }
}

/** No answer came: the connection could not be made, broke, or stayed silent. */
export class ConnectionError extends Error {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = "ConnectionError";
  }
}
