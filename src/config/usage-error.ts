/**
 * What a person wrote (an option, a variable, a line of a file) cannot be used. The message says where it was written
 * and what is expected there; the command line prints it and ends with status 2.
 */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Runs a reader; its UsageError then begins with the place where the value was written. */
export function at<Result>(place: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${place}: ${error.message}`) : error;
  }
}
