// What can be tried in each view: files of the site, and bytes of a captured bounce.

const FILES = {
  upgrade: ["streams.properties", "topology.txt", "orders.jar"],
  audit: ["__consumer_offsets-0/00000000000000000000.log"],
};

/** Rebalance metadata of real members, in the order of a bounce from 2.0.1 to 2.3.1; the last one is of 4.3.1. */
export const BYTES = {
  "a member of 2.0.1 joins": "000000000001000464617461000000240000000300000003894b799e663845f69780e848c8344654000000000000000000000000",
  "a member of 2.3.1 joins with version 4": "0000000000010004646174610000005400000004000000046064ec7e4ce1420dadbbd79dbb71aa03000000000000000600000000000000000000000000000001000000000000000200000000000000030000000000000004000000000000000500000000",
  "the leader of 2.0.1 answers with its version": "000000000000000000140000000300000003000000000000000000000000",
  "the member of 2.3.1 joins again with version 3": "0000000000010004646174610000005400000003000000046064ec7e4ce1420dadbbd79dbb71aa03000000000000000600000000000000000000000000000001000000000000000200000000000000030000000000000004000000000000000500000000",
  "it gets its tasks": "00000000000100046461746100000002000000000000000100000024000000030000000400000002000000000000000000000000000000010000000000000000",
  "a member of 4.3.1 joins": "000300000001001367726f75702d38343630373331642d64617461000000290000000b0000000bb9da831c71e54cc2846b5ee70e7d7b2f000000000000000002000000000000000000000000ffffffffffff",
};

async function sampleFile(path) {
  const response = await fetch(new URL(`samples/${path}`, import.meta.url));
  if (!response.ok) throw new Error(`expected the sample ${path} from the server of this page, got status ${response.status}`);
  return [path, new File([await response.blob()], path.split("/").at(-1))];
}

/** Return the files of a sample for a view: pairs of path and File. */
export const sampleFiles = (view) => Promise.all(FILES[view].map(sampleFile));
