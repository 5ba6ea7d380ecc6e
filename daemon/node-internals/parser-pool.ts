/** The HTTP parsers that Node keeps for later connections. */

/** So many connections can end and others begin without new parsers. */
const maxFreeParsers = 32

interface FreeList {
  max: number
}

/**
 * Node keeps a thousand, each of 8 KiB, and frees none: a thousand readers of logs would leave 8 MB behind for ever. Must
 * run before the first connection ends. A Node without this list keeps its own limit.
 */
export const limitParserPool = (): void => {
  // A built-in module even without the prefix `node:`; it has no types because only Node's own modules are meant to use it.
  const { parsers } = process.getBuiltinModule('_http_common' as 'http') as unknown as { parsers?: Partial<FreeList> }
  if (typeof parsers?.max === 'number') parsers.max = maxFreeParsers
}
