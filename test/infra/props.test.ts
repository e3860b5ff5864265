import { expect, it } from 'vitest';
import type { EventBackboneProps } from '../../infra/constructs/backbone-props.ts';
import { someBackbone } from '../support/somebodys-app.ts';

it.each<[EventBackboneProps, string | RegExp]>([
  [{ auth: 'jwt' }, "With auth 'jwt' the backbone needs 'jwt': issuer and audience."],
  [{ jwt: { issuer: 'https://a', audience: ['b'] } }, "'jwt' says nothing where auth is 'iam'; it must be 'jwt'."],
  [
    { auth: 'jwt', jwt: { issuer: 'http://a', audience: ['b'] } },
    "'jwt.issuer' must be an https URL; it is 'http://a'.",
  ],
  [{ auth: 'jwt', jwt: { issuer: 'https://a', audience: [] } }, "'jwt.audience' must name somebody."],
  [
    { auth: 'jwt', jwt: { issuer: 'https://a', audience: ['b'] }, functionUrl: true },
    "'functionUrl' cannot be where auth is 'jwt': Lambda checks no tokens.",
  ],
  [{ spillAboveBytes: 0 }, /^'spillAboveBytes' must be a whole number from 1 to \d+; it is 0\.$/],
  [{ concurrency: { deliver: 1 } }, "'concurrency.deliver' must be a whole number from 2 to 1000; it is 1."],
  [{ concurrency: { produce: 0 } }, "'concurrency.produce' must be a whole number of at least 1; it is 0."],
])('refuses %j with a sentence', (props, sentence) => {
  expect(() => someBackbone(props)).toThrow(sentence);
});
