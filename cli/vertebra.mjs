#!/usr/bin/env node
// Plain JavaScript of old, so that any Node.js can read it far enough to say which one is needed.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`vertebra: Node.js 20.19 or newer is needed; this is ${process.versions.node}.`);
  process.exit(2);
}

// Before anything of the AWS SDK is loaded: no advice about Node.js versions.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

// A clone has the sources, and runs them as they are; the package has what was built from them.
const { existsSync } = await import('node:fs');
const source = new URL('process.ts', import.meta.url);
const built = new URL('../dist/cli/process.js', import.meta.url);
if (!existsSync(source)) await import(built.href);
else {
  const { register } = await import('tsx/esm/api').catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.error('vertebra: packages are missing; run "npm ci" first.');
    process.exit(2);
  });
  register();
  await import(source.href);
}
