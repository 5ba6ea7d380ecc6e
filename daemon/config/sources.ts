/** Where the daemon's environment comes from: the process, then `.env` of the directory, then the platform's file. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { errno, messageOf } from '../../shared/errors.ts'
import { ownEnvironment, unguardEnvironment } from '../../shared/guarded-env.ts'
import type { Log } from '../../shared/log.ts'
import { namesOf } from './config.ts'
import { addMissing, parseEnvFile } from './env-file.ts'
import { readRegularFile } from './read-regular-file.ts'
import { vendor, type Env } from './read.ts'

type Given = Readonly<Record<string, string>> | undefined

const readIfThere = (path: string, log: Log): Buffer | undefined => {
  try {
    return readRegularFile(path)
  } catch (error) {
    if (errno(error) !== 'ENOENT') log.warn('environment.unreadable', { path, reason: messageOf(error) })
    return undefined
  }
}

const withoutPrefixes = (variables: NodeJS.Dict<string>, prefixes: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variables).filter(
      (pair): pair is [string, string] => pair[1] !== undefined && !prefixes.some(prefix => pair[0].startsWith(prefix)),
    ),
  )

/**
 * `.env` of the directory. Workloads can often write there, so the file counts only when nobody but the daemon's user
 * could have written it, and it never sets the daemon's or the platform's own variables.
 */
const dotenv = (path: string, base: Env, log: Log): Record<string, string> => {
  const content = readIfThere(path, log)
  if (!content) return {}
  const { uid, mode } = statSync(path)
  if (uid !== process.getuid?.() || (mode & 0o022) !== 0) {
    log.warn('environment.untrusted', { path, next: 'give the file to the user of the daemon, with mode 0644' })
    return {}
  }
  return withoutPrefixes(parseEnv(content.toString('utf8')), ['HUTCH_', 'SANDBOX_', ...namesOf(base).env('')])
}

/** The environment the process was started with, including what the host has packed into it or `given` beside it. */
const started = (env: Env, given: Given): Record<string, string> => ({
  ...ownEnvironment(env),
  ...unguardEnvironment(env),
  ...withoutPrefixes(given ?? {}, ['HUTCH_']),
})

const platformFile = (path: string, log: Log): Readonly<Record<string, string>> => {
  const content = readIfThere(path, log)
  if (!content) {
    log.warn('environment.file-missing', { path })
    return {}
  }
  const { variables, rejected, empty } = parseEnvFile(content)
  if (empty) log.error('environment.file-empty', { path })
  if (rejected.length) log.warn('environment.names-rejected', { path, names: rejected })
  return variables
}

/** The whole environment at start; `given` is what the host has told. Files only add what is missing; a broken file is logged and does not stop the start. */
export const gatherEnvironment = (base: Env, cwd: string, log: Log, given?: Given): Record<string, string> => {
  const own = started(base, given)
  const env = addMissing(own, dotenv(join(cwd, '.env'), own, log))
  const path = vendor(env, namesOf(env), 'ENV_VAR_PATH')
  return path ? addMissing(env, withoutPrefixes(platformFile(path, log), ['HUTCH_'])) : env
}
