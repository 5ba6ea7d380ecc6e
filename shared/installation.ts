/**
 * How this copy of Hutch is installed: as a checkout, whose TypeScript runs as it is, or as the npm package, compiled into
 * `dist/`. What was built is found from here and never from the current directory.
 */
import { join } from 'node:path'

export interface Installation {
  readonly kind: 'checkout' | 'package'
  /** Directory of package.json. */
  readonly root: string
}

/** The installation that a module lies in; `file` is `shared/installation.ts` of a checkout or its compiled form. */
export const installationOf = (file: string): Installation =>
  file.endsWith('.ts')
    ? { kind: 'checkout', root: join(file, '../..') }
    : { kind: 'package', root: join(file, '../../..') }

export const installation: Installation = installationOf(import.meta.filename)

/** What a person types for `hutch <words>` here: `make doctor`, or `npx hutch doctor`. */
export const command = (words: string, { kind }: Pick<Installation, 'kind'> = installation): string =>
  `${kind === 'checkout' ? 'make' : 'npx hutch'} ${words}`

/** What to do about a part that was built and is missing. */
export const rebuild =
  installation.kind === 'checkout' ? 'run make setup, which builds it' : 'install the package again'
