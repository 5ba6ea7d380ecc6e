/** The HTTP parsers that Node keeps for later connections. */

/** So many connections can end and new ones begin without making new parsers. */
const maxFreeParsers = 32

interface FreeList {
  max: number
}

/**
 * Node keeps up to a thousand, each of 8 KiB, and never frees them: a thousand readers of logs would leave 8 MB in use
 * for ever. Must run before the first connection ends. A Node without this list keeps its own limit.
 */
export const limitParserPool = (): void => {
  // A built-in module, also without the prefix `node:`. It has no types because it is meant for Node's own modules.
  const http = process.getBuiltinModule('_http_common' as 'http') as { parsers?: Partial<FreeList> } | undefined
  if (typeof http?.parsers?.max === 'number') http.parsers.max = maxFreeParsers
}
