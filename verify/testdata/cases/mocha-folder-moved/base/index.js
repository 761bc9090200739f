exports.find = async (list, word) => list.filter((x) => x.includes(word));
