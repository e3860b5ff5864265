/** Stored bytes are not what was stored, or what a producer sent as a record batch is none inside. Reading on is possible. */
export class PayloadCorrupt extends Error {
  constructor(detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = 'PayloadCorrupt';
  }
}
