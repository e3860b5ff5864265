/** An error as SQS answers it in its JSON protocol. */
export class SqsError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly statusCode = 400,
  ) {
    super(message);
    this.name = code;
  }
}

export const noSuchQueue = () => new SqsError('QueueDoesNotExist', 'The specified queue does not exist.');

export const invalidValue = (value: unknown, parameter: string, reason: string) =>
  new SqsError('InvalidParameterValue', `Value ${value} for parameter ${parameter} is invalid. Reason: ${reason}.`);

export const missing = (parameter: string) =>
  new SqsError('MissingParameter', `The request must contain the parameter ${parameter}.`);

/** A whole number within bounds, or the default. @throws {SqsError} */
export function wholeNumber(value: unknown, parameter: string, from: number, to: number, absent: number): number {
  if (value === undefined || value === null) return absent;
  const number = Number(value);
  if (!Number.isInteger(number) || number < from || number > to) {
    throw invalidValue(value, parameter, `Must be between ${from} and ${to}, if provided`);
  }
  return number;
}
