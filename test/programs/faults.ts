/**
 * Loaded into a server before anything else (`--import`): its n-th call out of the process, counted from when the order in `FAULTS_FILE` was
 * given, kills it before it takes effect, or fails. Calls are programs that are run, changes of the file system and commits; what they
 * were is in `FAULTS_FILE.calls`, a line each.
 */
import BetterSqlite from 'better-sqlite3'
import childProcess from 'node:child_process'
import fs, { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { constants } from 'node:os'
import { basename } from 'node:path'

interface Order {
  readonly id: string
  readonly kind: 'kills' | 'fails' | 'counts'
  readonly at: number
}

const path = process.env['FAULTS_FILE'] as string
const none: Order = { id: '', kind: 'counts', at: 0 }
let current = none
let count = 0

const order = (): Order => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Order
  } catch {
    // None was given yet, or it is being written.
    return none
  }
}

/** Whether this call is to fail. */
const strikes = (what: string): boolean => {
  const given = order()
  if (given.id !== current.id) {
    current = given
    count = 0
    writeFileSync(`${path}.calls`, '')
  }
  if (current.id === '') return false
  count++
  appendFileSync(`${path}.calls`, `${what}\n`)
  if (count !== current.at) return false
  if (current.kind === 'kills') process.kill(process.pid, 'SIGKILL')
  return current.kind === 'fails'
}

const failure = (what: string) => Object.assign(new Error(`EIO: the fault, ${what}`), { code: 'EIO', syscall: what })

type Call = (...given: unknown[]) => unknown
const calls = files as unknown as Record<string, Call>
const changing = [
  'mkdir',
  'mkdtemp',
  'writeFile',
  'rename',
  'rm',
  'rmdir',
  'unlink',
  'link',
  'symlink',
  'chmod',
  'chown',
]
for (const name of changing) {
  const call = calls[name] as Call
  calls[name] = async (...given) => {
    if (strikes(`${name} ${String(given[0])}`)) throw failure(name)
    return call(...given)
  }
}

/** What has no promise: control groups are written at once, as freezing and thawing do. */
const now = fs as unknown as Record<string, Call>
const writeNow = now['writeFileSync'] as Call
now['writeFileSync'] = (...given) => {
  const path = String(given[0])
  if (path.startsWith('/sys/fs/cgroup/') && strikes(`write ${path}`)) throw failure('write')
  return writeNow(...given)
}

const spawning = childProcess as unknown as Record<string, Call>
const spawn = spawning['spawn'] as Call
spawning['spawn'] = (...given) => {
  if (strikes(`spawn ${String(given[0])}`)) throw failure('spawn')
  return spawn(...given)
}
syncBuiltinESMExports()

type Addon = Record<string, Call>

/** The driver's own way to run programs is an addon. */
const failingRuns = ({ start, ...rest }: Addon): Addon => ({
  ...rest,
  start(...given) {
    if (!strikes(`run ${String(given[0])} ${(given[1] as string[]).slice(0, 3).join(' ')}`)) return start?.(...given)
    const ended = given.at(-1) as (...end: unknown[]) => void
    setImmediate(() => ended(0, 1, 0, '', 'the fault'))
    return undefined
  },
})

/** So is what it asks of quotas; an answer below 0 is an error. */
const failingQuotas = ({ join, bound, ...rest }: Addon): Addon => ({
  ...rest,
  join: (...given) => (strikes(`join ${given.join(' ')}`) ? -constants.errno.EIO : join?.(...given)),
  bound: (...given) => (strikes(`bound ${given.join(' ')}`) ? -constants.errno.EIO : bound?.(...given)),
})

const failing: Readonly<Record<string, (addon: Addon) => Addon>> = {
  'run-process.node': failingRuns,
  'project-quota.node': failingQuotas,
}

const load = process.dlopen.bind(process)
process.dlopen = (module: object, file: string, flags?: number) => {
  if (flags === undefined) load(module, file)
  else load(module, file, flags)
  const loaded = module as { exports: Addon }
  loaded.exports = failing[basename(file)]?.(loaded.exports) ?? loaded.exports
}

const prototype = BetterSqlite.prototype as unknown as { transaction: Call }
const transaction = prototype.transaction
prototype.transaction = function (...given) {
  const made = transaction.apply(this, given) as Call & Record<'deferred' | 'immediate', Call>
  const immediate: Call = (...more) => {
    if (strikes('commit')) throw new BetterSqlite.SqliteError('the fault', 'SQLITE_IOERR')
    return made.immediate(...more)
  }
  return Object.assign((...more: unknown[]) => made(...more), { deferred: made.deferred, immediate })
}
