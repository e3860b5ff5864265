import { InvalidRequest } from '../domain/errors.ts';
import { UPLOAD_BYTES_MAX } from '../domain/limits.ts';
import type { Payload } from '../domain/upload.ts';
import { type ApiRequest, mediaTypeOf } from './http-request.ts';
import { jsonObjectOf } from './json-body.ts';
import { JSON_TYPE } from './media-type.ts';
import { parseQuery } from './query.ts';

/** Reads `POST …/uploads`. @throws {InvalidRequest} naming the field that is missing, unknown or out of its range */
export function parseUploadRequest(request: ApiRequest): Payload {
  parseQuery(request.rawQuery, []);
  mediaTypeOf(request, [JSON_TYPE]);
  const { size, sha256, ...unknown } = jsonObjectOf(request.readBody());
  const [field] = Object.keys(unknown);
  if (field !== undefined) throw new InvalidRequest(`An upload has no field '${field.slice(0, 64)}'`, { field });
  if (!Number.isInteger(size) || (size as number) < 1 || (size as number) > UPLOAD_BYTES_MAX) {
    throw new InvalidRequest(`'size' must be an integer from 1 to ${UPLOAD_BYTES_MAX}: bytes`, { field: 'size' });
  }
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw new InvalidRequest("'sha256' must be 64 hex digits", { field: 'sha256' });
  }
  return { size: size as number, sha256: sha256.toLowerCase() };
}
