import { Resolver } from 'node:dns/promises'
import { errno, fail } from '../shared/errors.ts'

const boundMs = 3_000

/** TXT records of a name, each as one text; none where there are none. Throws `unavailable` when no resolver answers. */
export const txtRecords = async (name: string): Promise<string[]> => {
  const resolver = new Resolver({ timeout: boundMs, tries: 1 })
  try {
    return (await resolver.resolveTxt(name)).map(parts => parts.join(''))
  } catch (error) {
    const code = errno(error)
    if (code === 'ENOTFOUND' || code === 'ENODATA') return []
    throw fail('unavailable', { what: `DNS cannot be asked for ${name} (${code})`, next: 'try again' }, error)
  }
}
