import t from 'tap'
import { commands } from '../../../control/cli/commands.ts'
import { helpOf, overview } from '../../../control/cli/help.ts'
import { parseCommandLine } from '../../../control/cli/parse.ts'

const parse = (line: string) => parseCommandLine(line ? line.split(' ') : [], commands)

t.test('commands with their options and words', async t => {
  t.match(parse('run'), { kind: 'run', command: { name: 'run' }, options: {}, words: [] })
  t.match(parse('daemon --port 9080 --workdir=/srv'), { options: { port: '9080', workdir: '/srv' } })
  t.match(parse('image base'), { command: { name: 'image' }, words: ['base'] })
  t.equal(parse('--version').kind, 'version')
  for (const line of ['', '--help', '-h', 'help']) t.match(parse(line), { kind: 'help', command: undefined }, line)
  for (const line of ['run --help', 'run -h', 'help run', 'run x --help'])
    t.match(parse(line), { kind: 'help', command: { name: 'run' } }, line)
})

t.test('everything unknown is refused in one line, with what was probably meant', async t => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['rnu', /^unknown command "rnu"; did you mean run\?; see hutch --help$/],
    ['deploy', /^unknown command "deploy"; see hutch --help$/],
    ['--verison', /^unknown option --verison; did you mean --version\?/],
    ['run --port 1', /^unknown option --port; see hutch run --help$/],
    ['run -p', /^unknown option -p; /],
    ['daemon --prot 1', /^unknown option --prot; did you mean --port\?/],
    ['daemon --port', /^--port needs a value/],
    ['daemon --port=', /^--port needs a value/],
    ['run now', /^"now" is one word too many; see hutch run --help$/],
    ['run --help=x', /^--help takes no value/],
    ['--version please', /^--version takes nothing after it$/],
    ['help nothing', /^unknown command "nothing"/],
  ]
  for (const [line, message] of cases) t.throws(() => parse(line), { code: 'invalid_argument', message }, line)
})

t.test('help names every command and every option', async t => {
  for (const command of commands) {
    t.match(overview(commands), command.summary)
    for (const name of Object.keys(command.options ?? {})) t.match(helpOf(command), `--${name} `)
  }
})
