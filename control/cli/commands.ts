/** The commands of `hutch`. A new one is an entry here and a file beside it, which is loaded when the command runs. */
import { serverNames } from '../base/config/names.ts'
import type { Command } from './command.ts'

export const commands: readonly Command[] = [
  {
    name: 'run',
    summary: 'serves the management API and the sandboxes until it is stopped; sandboxes outlive it',
    help: [
      'Ctrl-C or SIGTERM stops it. A second Ctrl-C, more than two seconds later, forces the end.',
      'The environment configures it; docs/operation.md explains each variable:',
      ...serverNames.map(name => `  ${name}`),
    ],
    run: async invocation => (await import('./run.ts')).run(invocation),
  },
  {
    name: 'doctor',
    summary: 'tries every part of this machine; exits with 1 when Hutch cannot run here',
    help: ['It needs root, changes nothing that stays, and reads the same environment as hutch run.'],
    run: async invocation => (await import('./doctor.ts')).run(invocation),
  },
  {
    name: 'daemon',
    summary: 'runs hutchd, the daemon of a sandbox, alone on this machine: no key, no sandbox, no limits',
    options: {
      port: { type: 'string', value: 'PORT', help: 'where it listens; 8080 unless given' },
      host: { type: 'string', value: 'ADDRESS', help: 'the address it listens on; 127.0.0.1 unless given' },
      workdir: { type: 'string', value: 'DIR', help: 'where relative paths begin; the current directory unless given' },
    },
    help: ['Whoever reaches its port runs commands as you: think twice before another address than 127.0.0.1.'],
    run: async invocation => (await import('./daemon.ts')).run(invocation),
  },
  {
    name: 'key',
    words: 'create [NAME] | list | revoke ID',
    summary: 'makes, lists and revokes API keys of the data directory, with or without a server running on it',
    options: {
      expires: { type: 'string', value: '30d', help: 'how long it works: 24h, 30d, 1w; without end unless given' },
      role: { type: 'string', value: 'ROLE', help: 'admin or member; admin unless given' },
      scopes: { type: 'string', value: 'SCOPES', help: 'what it is limited to: sandboxes:list,sandboxes:control' },
      workspace: { type: 'string', value: 'NAME', help: 'the one workspace it reaches; all unless given' },
      'default-workspace': { type: 'string', value: 'NAME', help: 'the workspace meant where a call names none' },
    },
    help: [
      'create prints the key, once and nothing else: KEY=$(hutch key create laptop --expires 30d)',
      'Who can write the data directory can make keys. A running server knows of a change with its next request.',
    ],
    run: async invocation => (await import('./key.ts')).run(invocation),
  },
  {
    name: 'admin',
    words: 'link',
    summary: 'prints an address that makes an admin who signs in with a password: once, and within a day',
    options: {
      account: { type: 'string', value: 'NAME', help: 'of which account; the first one, default, unless given' },
    },
    help: ['A server may run. The address before it is of no use any more. HUTCH_PUBLIC_URL says where it begins.'],
    run: async invocation => (await import('./admin.ts')).run(invocation),
  },
  {
    name: 'account',
    words: 'create NAME | list',
    summary: 'makes and lists accounts, each with workspaces and people of its own',
    options: {
      workspace: { type: 'string', value: 'NAME', help: 'its first workspace; called like the account unless given' },
      'display-name': { type: 'string', value: 'TEXT', help: 'what people call it' },
    },
    help: [
      'create prints an address that makes its first admin: once, and within a day. hutch admin link --account NAME prints another.',
      'A server may run, which knows of it with its next request.',
    ],
    run: async invocation => (await import('./account.ts')).run(invocation),
  },
  {
    name: 'person',
    words: 'list | link EMAIL | admin EMAIL | member EMAIL | unbind EMAIL | remove EMAIL',
    summary: 'lists who signs in, lets somebody set a new password, and takes people out',
    help: [
      'link prints an address where the person sets a password: once, and within a day. The logins of before end with it.',
      'admin and member say whether the person is an admin of the account. remove takes keys, logins and memberships along.',
      'unbind is for somebody whom your provider has made anew: its next one with that address is that person here. Logins end.',
      'People come in by an invitation (POST /v0/users), by hutch admin link, or with your provider (HUTCH_OIDC_ISSUER).',
    ],
    run: async invocation => (await import('./person.ts')).run(invocation),
  },
  {
    name: 'image',
    words: 'list | base | import NAME FROM',
    summary: 'lists the images of this machine, builds the image base (Debian with tools), or brings one in',
    help: [
      'base is built with mmdebstrap in a few minutes, once.',
      'FROM is an archive (docker save), a directory with an OCI layout, or a reference with its registry.',
      'Both may be done while hutch run runs, which finds the image at once.',
    ],
    run: async invocation => (await import('./image.ts')).run(invocation),
  },
  {
    name: 'backup',
    words: 'FILE',
    summary: 'copies everything that the server on this data directory keeps into a new file, while it runs',
    help: [
      'Each sandbox stands still while its files are copied. The file holds keys: whoever has it can do everything.',
    ],
    run: async invocation => (await import('./backup.ts')).run(invocation),
  },
  {
    name: 'restore',
    words: 'FILE',
    summary: 'makes a data directory, which must be empty, from a backup',
    run: async invocation => (await import('./restore.ts')).run(invocation),
  },
  {
    name: 'rotate',
    summary: 'seals all stored secrets of the data directory with a new key, with or without a server running on it',
    help: ['What was killed on the way goes on where it was. Backups keep the key that they were made with.'],
    run: async invocation => (await import('./rotate.ts')).run(invocation),
  },
  {
    name: 'service',
    words: '[FILE]',
    summary: 'prints or writes a unit of systemd for the server that this environment would run',
    help: ['A file that is there is not written over.'],
    run: async invocation => (await import('./service.ts')).run(invocation),
  },
  {
    name: 'drain',
    summary: 'takes no new sandboxes from now on, in a server that runs and in the next one; --undo takes them again',
    options: {
      undo: { type: 'boolean', help: 'takes new sandboxes again' },
      wait: { type: 'boolean', help: 'returns when every sandbox sleeps' },
    },
    help: ['What is there runs on, falls asleep when nobody uses it, and wakes when somebody does.'],
    run: async invocation => (await import('./drain.ts')).run(invocation),
  },
  {
    name: 'audit',
    words: 'verify | head',
    summary: 'says whether the audit in the data directory is what was written, or prints where it ends',
    options: {
      head: {
        type: 'string',
        value: 'HEAD',
        help: 'an end printed earlier; verify fails when it is not there any more',
      },
    },
    help: ['A server may run. Keep what head prints somewhere else: a tail that was cut off shows by it alone.'],
    run: async invocation => (await import('./audit.ts')).run(invocation),
  },
]
