/** The two files that add variables the environment does not have yet. */

interface EnvFile {
  readonly variables: Readonly<Record<string, string>>
  /** Pairs whose name cannot be a variable's; the others still count. */
  readonly rejected: readonly string[]
  /** The file has content but not one pair. */
  readonly empty: boolean
}

const isName = (name: string): boolean => /^[^=\0]+$/.test(name)

/**
 * `KEY NUL VALUE NUL …`: values may hold newlines and `=`. The last duplicate wins; nameless pairs and a key without
 * value are dropped; the final NUL may be missing.
 */
export const parseEnvFile = (content: Buffer): EnvFile => {
  const parts = content.toString('utf8').split('\0')
  if (parts.at(-1) === '') parts.pop()
  const variables: Record<string, string> = {}
  const rejected: string[] = []
  let pairs = 0
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const name = parts[index] as string
    if (name === '') continue
    pairs++
    if (isName(name)) variables[name] = parts[index + 1] as string
    else rejected.push(name)
  }
  return { variables, rejected, empty: content.length > 0 && pairs === 0 }
}

/** `base` plus the variables of `extra` that it does not have; one that is set but empty counts as present. */
export const addMissing = (
  base: Readonly<Record<string, string>>,
  extra: Readonly<Record<string, string>>,
): Record<string, string> => ({ ...extra, ...base })
