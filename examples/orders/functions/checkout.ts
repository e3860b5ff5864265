import { type Basket, placeOrder, statusOf } from '../shop/checkout.ts';
import { InvalidOrder } from '../shop/events.ts';
import { openServices } from '../shop/services.ts';

/** What is used of the event of a function URL, or of an HTTP API. */
export interface HttpEvent {
  readonly rawPath: string;
  readonly body?: string | undefined;
  readonly isBase64Encoded?: boolean;
  readonly requestContext: { readonly http: { readonly method: string } };
}

export interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** `PUT /orders/{orderId}` places an order, `GET /orders/{orderId}` tells how far it is. */
export async function handler(event: HttpEvent): Promise<HttpAnswer> {
  const { method } = event.requestContext.http;
  const orderId = /^\/orders\/([\w.-]{1,64})$/.exec(event.rawPath)?.[1];
  if (orderId === undefined) return answer(404, { error: 'There is /orders/{orderId}' });
  if (method === 'GET') {
    const status = await statusOf(openServices(), orderId);
    return status === undefined ? answer(404, { error: 'There is no such order' }) : answer(200, { orderId, status });
  }
  if (method !== 'PUT') return answer(405, { error: 'PUT or GET' });
  try {
    const { order, isNew } = await placeOrder(openServices(), orderId, basketIn(event));
    return answer(isNew ? 201 : 200, { orderId, totalCents: order.totalCents });
  } catch (error) {
    if (error instanceof InvalidOrder) return answer(400, { error: error.message });
    throw error;
  }
}

function basketIn({ body = '', isBase64Encoded }: HttpEvent): Basket {
  try {
    const basket: unknown = JSON.parse(isBase64Encoded ? Buffer.from(body, 'base64').toString() : body);
    if (typeof basket === 'object' && basket !== null) return basket as Basket;
  } catch {}
  throw new InvalidOrder('The body is no JSON object');
}

const answer = (statusCode: number, body: object): HttpAnswer => ({
  ...{ statusCode, headers: { 'content-type': 'application/json' } },
  body: JSON.stringify(body),
});
