/** `hutch audit`: looks at the chain of the audit in a data directory, whether or not a server runs. */
import { loadConfig } from '../base/config.ts'
import type { AuditHead, Store } from '../core/store/store.ts'
import { misuse, type Invocation } from './command.ts'
import { withExistingStore } from './existing-store.ts'

const headFrom = (text: string): AuditHead => {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (!seq || !hash) throw misuse(`"${text}" is not a head as audit head prints it: number:hash`)
  return { seq: Number(seq), hash }
}

/** The exit code: 1 when the audit is not what was written. */
const look = async (
  { audit }: Store,
  {
    verb,
    known,
    say,
  }: { readonly verb: string; readonly known: AuditHead | undefined; readonly say: Invocation['say'] },
): Promise<number> => {
  if (verb === 'head') {
    const { seq, hash } = await audit.head()
    say(`${seq}:${hash}`)
    return 0
  }
  const { head, broken } = await audit.verify(known)
  say(broken ? `row ${broken.seq}: ${broken.reason}` : `${head.seq} rows, as they were written; ends with ${head.hash}`)
  return broken ? 1 : 0
}

export const run = async ({ env, cwd, words, options, say }: Invocation): Promise<number> => {
  const [verb, ...more] = words
  if (verb === undefined || more.length > 0 || !['verify', 'head'].includes(verb))
    throw misuse('audit takes one word, verify or head; see hutch audit --help')
  const known = typeof options['head'] === 'string' ? headFrom(options['head']) : undefined
  let code = 1
  await withExistingStore(loadConfig(env, cwd).dataDir, async store => {
    code = await look(store, { verb, known, say })
  })
  return code
}
