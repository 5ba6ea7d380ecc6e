/** What of an archive is built, and how: by its Dockerfile, or by one that is written for a project of a known language. */
import { fail } from '../../../../shared/errors.ts'
import type { Archive } from '../archive/zip.ts'
import { recogniseNode } from './node.ts'
import { recognisePython } from './python.ts'
import { settingsOf, variablesIn } from './settings.ts'

/** What a recogniser is told. */
export interface Surroundings {
  /** The image that projects without a Dockerfile are made from. */
  readonly base: string
  /** The command that `svc.toml` starts it with. */
  readonly start: string | undefined
}

export interface Recognised {
  readonly language: string
  readonly dockerfile: string
  /** Files beside those of the archive. */
  readonly added: Readonly<Record<string, string>>
}

export interface Recipe {
  /** `Dockerfile`, or the language. */
  readonly by: string
  readonly dockerfile: string
  readonly args: Readonly<Record<string, string>>
  /** Variables of `.env.build`: for the steps that ask for them, and for no layer. */
  readonly secrets: Readonly<Record<string, string>>
  /** Files beside those of the archive. */
  readonly added: Readonly<Record<string, string>>
  /** Entries that stay out of the context. */
  readonly without: ReadonlySet<string>
}

const secretsName = '.env.build'
const recognisers = [recognisePython, recogniseNode]

const write = async (archive: Archive, surroundings: Surroundings): Promise<Recognised> => {
  for (const recognise of recognisers) {
    const found = await recognise(archive, surroundings)
    if (found) return found
  }
  throw fail('unprocessable', {
    reason:
      'the archive has no Dockerfile at its root, and neither pyproject.toml, requirements.txt, uv.lock nor package.json, by which Python and Node projects are recognised',
  })
}

/** `settings` are names of the file that says how to build, in the spellings of this host. Throws `unprocessable` with what is missing. */
export const recipeOf = async (
  archive: Archive,
  { base, settings }: { base: string; settings: readonly string[] },
): Promise<Recipe> => {
  const file = settings.find(name => archive.entries.get(name)?.type === 'file')
  const { args, start } = settingsOf(file ?? '', file === undefined ? undefined : await archive.text(file))
  const hidden = await archive.text(secretsName)
  const common = {
    args,
    secrets: hidden === undefined ? {} : variablesIn(secretsName, hidden),
    without: new Set([secretsName]),
  }
  const own = await archive.text('Dockerfile')
  if (own !== undefined) return { ...common, by: 'Dockerfile', dockerfile: own, added: {} }
  const { language, dockerfile, added } = await write(archive, { base, start })
  return { ...common, by: language, dockerfile, added }
}
