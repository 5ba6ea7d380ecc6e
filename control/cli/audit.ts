/** `hutch audit`: looks at the chain of the audit in a data directory, whether or not a server runs. */
import { join } from 'node:path'
import { silentLog } from '../../shared/log.ts'
import { loadConfig } from '../config.ts'
import { openStore } from '../store/sqlite/open.ts'
import type { AuditHead } from '../store/store.ts'
import { misuse, type Invocation } from './command.ts'

const headFrom = (text: string): AuditHead => {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (!seq || !hash) throw misuse(`"${text}" is not a head as audit head prints it: number:hash`)
  return { seq: Number(seq), hash }
}

/** The exit code: 1 when the audit is not what was written. */
export const run = async ({ env, cwd, words, options, say }: Invocation): Promise<number> => {
  const [verb, ...more] = words
  if (verb === undefined || more.length > 0 || !['verify', 'head'].includes(verb))
    throw misuse('audit takes one word, verify or head; see hutch audit --help')
  const known = typeof options['head'] === 'string' ? headFrom(options['head']) : undefined
  const store = await openStore({ path: join(loadConfig(env, cwd).dataDir, 'hutch.db') }, { log: silentLog })
  try {
    if (verb === 'head') {
      const { seq, hash } = await store.audit.head()
      say(`${seq}:${hash}`)
      return 0
    }
    const { head, broken } = await store.audit.verify(known)
    say(
      broken ? `row ${broken.seq}: ${broken.reason}` : `${head.seq} rows, as they were written; ends with ${head.hash}`,
    )
    return broken ? 1 : 0
  } finally {
    await store.close()
  }
}
