/** A server whose n-th call out of its process kills it, or fails. */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { server, type Server, type Teardowns } from './server.ts'

export interface FaultyServer extends Server {
  /** From now on calls are counted. */
  arm(kind: 'kills' | 'fails' | 'counts', at?: number): void
  disarm(): void
  /** Those since it was armed, a line each. */
  calls(): string[]
}

const program = new URL('../programs/faults.ts', import.meta.url).pathname

export const faultyServer = async (t: Teardowns, env: Record<string, string> = {}): Promise<FaultyServer> => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-faults-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'order')
  let orders = 0
  const give = (order: object) => {
    writeFileSync(`${file}.new`, JSON.stringify(order))
    renameSync(`${file}.new`, file)
  }
  const on = await server(t, { NODE_OPTIONS: `--import=${program}`, FAULTS_FILE: file, ...env })
  // Its address is another one after each start.
  return Object.assign(Object.create(on) as Server, {
    arm: (kind: string, at = 0) => give({ id: String(++orders), kind, at }),
    disarm: () => give({ id: '', kind: 'counts', at: 0 }),
    calls() {
      try {
        return readFileSync(`${file}.calls`, 'utf8').split('\n').slice(0, -1)
      } catch {
        // Nothing was called yet.
        return []
      }
    },
  })
}
