/** Text of the Dockerfiles that are written for projects that have none. */

/** Where the secrets of a build lie while one of its steps runs. */
const secretsFile = '/run/secrets/env.build'

/** A step that sees the variables of `.env.build`; they are in no layer. */
export const secretRun = (command: string): string =>
  `RUN --mount=type=secret,id=env.build,target=${secretsFile},required=false \\\n    set -e; if [ -f ${secretsFile} ]; then . ${secretsFile}; fi; ${command}`

/** What starts the built program, by a shell: `$PORT` and `$HOST` are those of its machine. */
export const shellCommand = (command: string): string => `CMD ${JSON.stringify(['/bin/sh', '-c', command])}`

export const dockerfile = (lines: readonly (string | undefined)[]): string =>
  `${lines.filter(line => line !== undefined).join('\n')}\n`
