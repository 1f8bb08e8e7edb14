/** The errors of the client: a refusal of the server with its type, and a connection that failed. */
import type { components } from "./openapi.js";

type Problem = components["schemas"]["Problem"];

/** The types of refusals, as the server's OpenAPI document lists them. */
export type ProblemType = Problem["type"] extends `/problems/${infer Slug}` ? Slug : never;

/** A refusal by the server. `type` says which: compare it with one of `ProblemType`. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly type: ProblemType | "unknown";
  readonly status: number;
  readonly title: string;
  /** The fields that were wrong, each with what is allowed. */
  readonly errors: NonNullable<Problem["errors"]>;
  /** The time after which the same request may succeed, where the server knows it. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, problem: Partial<Problem>, retryAfterSeconds?: number) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}.`);
    this.type = (problem.type?.replace("/problems/", "") as ProblemType | undefined) ?? "unknown";
    this.status = status;
    this.title = problem.title ?? "";
    this.errors = problem.errors ?? [];
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** No answer came: the connection failed or timed out. The request may have been carried out. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** Return whether the error is a refusal of this type. */
export function isRefused(error: unknown, type: ProblemType): error is Refused {
  return error instanceof Refused && error.type === type;
}

/** Read the refusal out of an answer; a body that is no problem document, as of a proxy, goes by its status. */
export async function refusalOf(response: Response): Promise<Refused> {
  const problem: unknown = await response.json().catch(() => null);
  const isProblem = typeof problem === "object" && problem !== null && "type" in problem;
  const after = Number(response.headers.get("Retry-After") ?? NaN);
  return new Refused(
    response.status,
    isProblem ? (problem as Problem) : { title: response.statusText },
    Number.isFinite(after) && after >= 0 ? after : undefined,
  );
}
