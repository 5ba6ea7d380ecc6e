/**
 * Lists that an operator can edit: `{data directory}/catalogues/{name}.json` holds the entries of one, and replaces what is
 * shipped. A file is read again when it has changed.
 */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errno, fail, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { problemsOf, s, type Out } from '../../../shared/schema.ts'
import { entryShapes, type CatalogueName } from './shapes.ts'
import { hubs } from './shipped/hubs.ts'
import { integrations } from './shipped/integrations.ts'
import { templates } from './shipped/templates.ts'

export type Entry<N extends CatalogueName> = Out<(typeof entryShapes)[N]>
export type Shipped = { readonly [N in CatalogueName]: readonly Entry<N>[] }

export interface Catalogues {
  /** The entries as they are now. Throws `unavailable` while the operator's file cannot be read or has a mistake. */
  read<N extends CatalogueName>(name: N): Promise<readonly Entry<N>[]>
}

const shipped: Shipped = {
  ...hubs,
  // Paths on this host: whoever answers them knows where that is.
  templates: templates.map(({ entry }) => entry),
  integrations,
  features: [],
  changelog: [],
  regions: [],
  'public-ips': [],
  'model-prices': [],
  'model-budgets': [],
}

/** Bytes of one file. */
const mostBytes = 16 * 1024 * 1024

/** Which version of a file was read; undefined when there is none. */
const versionOf = async (path: string): Promise<string | undefined> => {
  try {
    const { mtimeMs, size, ino } = await stat(path)
    if (size > mostBytes) throw new Error(`it has more than ${mostBytes} bytes`)
    return `${mtimeMs} ${size} ${ino}`
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined
    throw error
  }
}

const duplicateIn = (entries: readonly object[]): string | undefined => {
  const names = entries.map(entry => ('name' in entry ? String(entry.name) : undefined))
  return names.find((name, at) => name !== undefined && names.indexOf(name) !== at)
}

/** Throws what is wrong with the text. */
const entriesIn = (name: CatalogueName, text: string): unknown[] => {
  const value: unknown = JSON.parse(text)
  const [problem] = problemsOf(s.array(entryShapes[name] as never), value)
  if (problem) throw new Error(problem.field ? `${problem.field}: ${problem.reason}` : problem.reason)
  const entries = value as object[]
  const twice = duplicateIn(entries)
  if (twice) throw new Error(`there are two entries "${twice}"`)
  return entries
}

interface Read {
  readonly version: string
  readonly entries?: readonly unknown[]
  readonly mistake?: string
}

export const openCatalogues = (directory: string, { log }: { log: Log }): Catalogues => {
  const known = new Map<CatalogueName, Read>()

  const fresh = async (name: CatalogueName, path: string, version: string): Promise<Read> => {
    try {
      return { version, entries: entriesIn(name, await readFile(path, 'utf8')) }
    } catch (error) {
      const mistake = messageOf(error)
      // The path and the mistake are the operator's to know; tenants hear that it is not theirs.
      log.error('catalogue.wrong', { path, mistake })
      return { version, mistake }
    }
  }

  return {
    async read<N extends CatalogueName>(name: N) {
      const path = join(directory, `${name}.json`)
      const version = await versionOf(path).catch(error => {
        log.error('catalogue.wrong', { path, mistake: messageOf(error) })
        throw fail(
          'unavailable',
          { what: `the catalogue ${name} cannot be read`, next: 'see the log of the host' },
          error,
        )
      })
      if (version === undefined) return shipped[name]
      const before = known.get(name)
      const read = before?.version === version ? before : await fresh(name, path, version)
      known.set(name, read)
      if (!read.entries)
        throw fail('unavailable', { what: `the catalogue ${name} has a mistake`, next: 'see the log of the host' })
      return read.entries as readonly Entry<N>[]
    },
  }
}
