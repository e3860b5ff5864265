/** A start that cannot be: told in one sentence, without a stack. */
export class Refusal extends Error {
  constructor(
    message: string,
    /** 1: it could not start; 2: it was called wrongly. */
    readonly exitCode: 1 | 2 = 1,
  ) {
    super(message);
    this.name = 'Refusal';
  }
}
