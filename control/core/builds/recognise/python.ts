/** Projects in Python without a Dockerfile. */
import { fail } from '../../../../shared/errors.ts'
import { parse, s } from '../../../../shared/schema.ts'
import type { Archive } from '../archive/zip.ts'
import { dockerfile, secretRun, shellCommand } from './dockerfile.ts'
import type { Recognised, Surroundings } from './recognise.ts'
import { readToml } from './settings.ts'

const marks = ['uv.lock', 'requirements.txt', 'pyproject.toml'] as const

const pyproject = s.looseObject({
  project: s.optional(s.looseObject({ dependencies: s.optional(s.array(s.string())) })),
})

/** Where a program begins unless `entrypoint.prod` says so; the first that is there. */
const mains = [
  'main.py',
  'app.py',
  'server.py',
  'agent.py',
  'src/main.py',
  'src/app.py',
  'src/server.py',
  'src/agent.py',
]

/** `src/main.py` → `src.main`. */
const moduleOf = (file: string): string => file.replace(/\.py$/, '').replaceAll('/', '.')

/** A program that serves by itself is run; one that only makes its application is served. */
const startOf = (file: string, text: string): string => {
  const [, fast] = /^(\w+)\s*=\s*FastAPI\(/m.exec(text) ?? []
  if (fast !== undefined && !text.includes('uvicorn.run('))
    return `exec python -m uvicorn ${moduleOf(file)}:${fast} --host "\${HOST:-0.0.0.0}" --port "\${PORT:-80}"`
  const [, flask] = /^(\w+)\s*=\s*Flask\(/m.exec(text) ?? []
  if (flask !== undefined && !new RegExp(`\\b${flask}\\.run\\(`).test(text))
    return `exec python -m flask --app ${moduleOf(file)}:${flask} run --host "\${HOST:-0.0.0.0}" --port "\${PORT:-80}"`
  return `exec python ${file}`
}

const findStart = async (archive: Archive): Promise<string> => {
  for (const file of mains) {
    const text = await archive.text(file)
    if (text !== undefined) return startOf(file, text)
  }
  throw fail('unprocessable', {
    reason: `nothing says how this Python project is started: write entrypoint.prod into svc.toml, add a Dockerfile, or name the program ${mains[0]}`,
  })
}

interface Install {
  /** What has to be there before: a layer of its own, which stays as long as these files do. */
  readonly copied: readonly string[]
  readonly command: string
  readonly added?: Readonly<Record<string, string>>
}

const generated = '.hutch-requirements.txt'

const installOf = async (archive: Archive): Promise<Install> => {
  const has = (name: string) => archive.entries.get(name)?.type === 'file'
  if (has('uv.lock') && has('pyproject.toml'))
    return {
      copied: ['pyproject.toml', 'uv.lock'],
      command:
        'python -m pip install uv && uv export --frozen --no-dev --no-emit-project --format requirements-txt -o /tmp/requirements.txt && python -m pip install -r /tmp/requirements.txt',
    }
  if (has('requirements.txt'))
    return { copied: ['requirements.txt'], command: 'python -m pip install -r requirements.txt' }
  const { project } = parse(
    pyproject,
    readToml('pyproject.toml', (await archive.text('pyproject.toml')) ?? ''),
    'config',
  )
  // Without a list of its own it is for the project's build system to say what it needs.
  if (!project?.dependencies) return { copied: [], command: 'python -m pip install .' }
  const text = project.dependencies.map(one => `${one}\n`).join('')
  return { copied: [generated], command: `python -m pip install -r ${generated}`, added: { [generated]: text } }
}

export const recognisePython = async (
  archive: Archive,
  { base, start }: Surroundings,
): Promise<Recognised | undefined> => {
  if (!marks.some(name => archive.entries.get(name)?.type === 'file')) return undefined
  const { copied, command, added = {} } = await installOf(archive)
  const install = secretRun(command)
  const isLate = copied.length === 0
  return {
    language: 'python',
    added,
    dockerfile: dockerfile([
      `FROM ${base}`,
      'WORKDIR /app',
      'ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1',
      ...(isLate ? [] : [`COPY ${JSON.stringify([...copied, './'])}`, install]),
      'COPY . .',
      isLate ? install : undefined,
      shellCommand(start ?? (await findStart(archive))),
    ]),
  }
}
