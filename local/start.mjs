// Plain JavaScript of old, so that any Node.js can read it far enough to say which one is needed.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`vertebra: Node.js 20.19 or newer is needed; this is ${process.versions.node}.`);
  process.exit(1);
}

// Before anything of the AWS SDK is loaded: no advice about Node.js versions, no look for instance credentials.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';
process.env.AWS_EC2_METADATA_DISABLED = 'true';

import('tsx/esm/api')
  .catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.error('vertebra: packages are missing; run "npm ci" first.');
    process.exit(1);
  })
  .then(({ register }) => {
    register();
    return import('./main.ts');
  })
  .then(({ main }) => main(process.argv.slice(2)));
