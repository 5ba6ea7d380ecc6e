/** What no client should send, and how an answer to it must look. */
import type { Answer } from './call.ts'
import { templateOf, type OpenApi } from '../../shared/http/openapi.ts'
import type { Route } from '../../shared/route.ts'

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

export const badBodies = [
  '',
  ' ',
  '{',
  'null',
  '[]',
  '7',
  '"text"',
  'true',
  '{}',
  '{"__proto__":{"a":1},"constructor":7}',
  '\0',
  Buffer.from([0xff, 0xfe, 0xfd]),
  deep(50_000),
]

export const badValues: unknown[] = [
  null,
  7,
  -1,
  1e308,
  true,
  [],
  {},
  '',
  '\0',
  '../..',
  'x'.repeat(100_000),
  ['\0'],
  { '\0': '\0' },
]

export const badQueries = [
  '',
  '\0',
  '-1',
  '1e400',
  '99999999999999999999',
  '../..',
  '(',
  '[',
  '%',
  'x'.repeat(70_000),
  '🙂',
  'NaN',
]

export const badSegments = [
  '%00',
  '%ff',
  '..',
  '%2e%2e',
  '99999999999999999999',
  '-1',
  'a%2Fb',
  'x'.repeat(5_000),
  '%F0%9F%99%82',
]

/** Nobody foresaw it: the contract's own 500s have a text of their own. */
export const broke = ({ status, text }: Answer): boolean =>
  status >= 500 && (text === '' || text.includes('internal error'))

/** Whether the API's own document, as it is served, says that the route may answer so. */
export const documented = (document: OpenApi, { method, path }: Route, status: number): boolean =>
  String(status) in (document.paths[templateOf(path)]?.[method.toLowerCase()]?.responses ?? {})
