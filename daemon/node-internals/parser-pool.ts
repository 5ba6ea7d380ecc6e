/** Node's own parsers of HTTP, which it keeps for connections to come. */

/** As many connections end and begin anew without making parsers. */
const kept = 32

interface FreeList {
  max: number
}

/**
 * Node keeps a thousand, each of 8 KiB, and gives none back: a thousand readers of logs would leave 8 MB behind for ever.
 * Must run before the first connection ends. An older or newer Node without this list keeps what it keeps.
 */
export const limitParserPool = (): void => {
  // Without a prefix it is Node's too; it has no types because only its own modules are meant to know it.
  const { parsers } = process.getBuiltinModule('_http_common' as 'http') as unknown as { parsers?: Partial<FreeList> }
  if (typeof parsers?.max === 'number') parsers.max = kept
}
