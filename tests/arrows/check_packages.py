#!/usr/bin/env python3
"""Whether what installs assay names the packages of what assay links, opens and starts.

usage: check_packages.py ROOT [ASSAY]

Of the container image (harness/package/Containerfile), the Debian package (harness/package/package.cmake) and
`./bootstrap.sh run`. A library that the sources open and that stands in no table here is an error: say which
package has it. With ASSAY, on Debian, each library that the program links has to come with what bootstrap.sh
installs, and the package's maintainer to be a name and an address. The container's entry is run with a program in
place of assay.
"""

import os
import re
import subprocess
import sys
import tempfile

# What is opened at run time: the package in the image, those that may stand in the Debian package, and
# in bootstrap.sh. A name that ends in * is one of a release.
OPENED = {
    "libOpenCL": ("ocl-icd-libopencl1", {"ocl-icd-libopencl1"}, {"ocl-icd-libopencl1"}),
    "libcurl": ("libcurl4", {"libcurl4"}, {"libcurl4-openssl-dev"}),
    "libdnnl": ("libdnnl*", {"libdnnl2", "libdnnl3"}, {"libdnnl2", "libdnnl3"}),
    "libclblast": ("libclblast1", {"libclblast1"}, {"libclblast1"}),
}
# Of a vendor's stack, whose versions are the user's choice; the C++ runtime comes with a driver, too.
VENDORS = {"libamdhip64", "libcublasLt", "libcuda", "libcudnn", "libhipblaslt", "libhiprtc", "libnvidia-ml", "libnvrtc",
           "librocblas", "librocm_smi64", "libgcc_s", "libstdc++"}
# Programs, and data that a library reads: the same.
STARTED = {
    "the compiler of the cpu backend": ("gcc", {"gcc"}, {"gcc"}),
    "its headers": ("libc6-dev", {"libc6-dev"}, {"libc6-dev"}),
    "PoCL, the OpenCL device of every machine": ("pocl-opencl-icd", {"pocl-opencl-icd"}, {"pocl-opencl-icd"}),
    "venv, which installs workers": ("python3-venv", {"python3-venv"}, {"python3-venv"}),
    "openssl, which asks for time stamps": ("openssl", {"openssl"}, set()),  # bootstrap's tests install it
    "certificates of servers that libcurl is to trust": ("ca-certificates", {"ca-certificates"}, {"libcurl4-openssl-dev"}),
}
SONAME = re.compile(r'"(lib[A-Za-z0-9_+-]+)\.so')


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def image_packages(root):
    """Words of the image's last `apt-get install`."""
    text = read(root, "harness/package/Containerfile").replace("\\\n", " ")
    words = re.findall(r"apt-get install -y --no-install-recommends (.*?)&&", text)[-1]
    named = set(re.sub(r"\$\(.*?\)", " ", words).split())
    return named | {re.sub(r"\[.*", "*", word) for word in re.findall(r"grep -x '([^']*)'", words)}


def package_packages(root):
    """All alternatives of what the Debian package recommends and suggests."""
    text = read(root, "harness/package/package.cmake")
    lists = re.findall(r"set\(CPACK_DEBIAN_PACKAGE_(?:RECOMMENDS|SUGGESTS)\s+\"([^\"]*)\"\)", text)
    return {word for each in lists for word in re.split(r"[,|\s]+", each) if word}


def bootstrap_packages(root):
    """What `run` installs, of what the release has."""
    text = read(root, "bootstrap.sh")
    names = set()
    for name in ("run_packages", "optional_run_packages"):
        names |= set(re.search(r"^%s=\((.*?)\)" % name, text, re.M | re.S).group(1).split())
    return names


def opened_in(root):
    """{library: a file that opens it}, by the names in the sources."""
    found = {}
    for folder in ("backends", "harness", "results", "workloads"):
        for place, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith(".c"):
                    for library in SONAME.findall(read(place, name)):
                        found.setdefault(library, os.path.relpath(os.path.join(place, name), root))
    return found


def check_named(root):
    image, package, bootstrap = image_packages(root), package_packages(root), bootstrap_packages(root)
    wrong = []
    for what, (own, of_package, of_bootstrap) in {**OPENED, **STARTED}.items():
        for place, has in (("harness/package/Containerfile", own in image),
                           ("harness/package/package.cmake", of_package <= package),
                           ("bootstrap.sh", of_bootstrap <= bootstrap)):
            if not has:
                wrong.append(f"{place} does not name the package of {what} ({own})")
    for library, file in sorted(opened_in(root).items()):
        if library not in OPENED and library not in VENDORS:
            wrong.append(f"{file} opens {library}: add it to OPENED or VENDORS in check_packages.py")
    for library in sorted(set(OPENED) - set(opened_in(root))):
        wrong.append(f"no source opens {library}: take it out of check_packages.py")
    if "set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)" not in read(root, "harness/package/package.cmake"):
        wrong.append("harness/package/package.cmake does not have dpkg-shlibdeps find what the program links")
    return wrong


# ---- what is linked


def output(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def owner_of(path):
    """The Debian package of a library; the loader's path may go through a link of /lib."""
    for name in (path, os.path.realpath(path), os.path.realpath(path).replace("/usr/lib/", "/lib/", 1)):
        told = output("dpkg-query", "-S", name)
        if told:
            return told.split(":")[0]
    return None


def comes_with(packages):
    """All that the installed ones of these depend on, by names."""
    found, left = set(), list(packages)
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        told = output("dpkg-query", "-W", "-f", "${Pre-Depends}, ${Depends}\n", name).split("\n")[0]
        left += [word for word in re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]*)", told) if word not in found]
    return found


def check_linked(root, assay):
    linked = re.findall(r"=> (/\S+)", output("ldd", assay))
    direct = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", assay))
    if not linked or not direct:
        return [f"ldd or readelf do not tell what {assay} links"]
    missing = [name for name in direct if not name.startswith("ld-linux")
               and name not in {os.path.basename(path) for path in linked}]
    wrong = [f"{name}, which {assay} links, is not on this machine" for name in missing]
    if not output("dpkg-query", "-W", "libc6"):
        print("no dpkg here: whose the linked libraries are was not looked at")
        return wrong
    installed = comes_with(bootstrap_packages(root))
    for path in linked:
        package = owner_of(path)
        if package and package not in installed:
            wrong.append(f"{path} of the package {package} does not come with what bootstrap.sh installs")
    return wrong


# ---- the maintainer


def check_maintainer(assay):
    """`Name <address>` as dpkg and lintian take it, of a host that is not the machine at hand."""
    config = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(assay))), "CPackConfig.cmake")
    if not os.path.exists(config):
        print(f"no {config}: whose package it is was not looked at")
        return []
    with open(config, encoding="utf-8") as file:
        (contact,) = re.findall(r'^set\(CPACK_PACKAGE_CONTACT "(.*)"\)$', file.read(), re.M)
    good = re.fullmatch(r"[^<>@]+ <[^<>@ ]+@(?!localhost)[a-z0-9-]+(\.[a-z0-9-]+)+>", contact)
    return [] if good else [f"the package's maintainer is {contact!r}, not \"Name <address>\" with a host's full name"]


# ---- the container's entry


def entry_as(root, folder, user):
    """Who runs assay there, and whether it may write, where the entry starts as `user`."""
    with tempfile.TemporaryDirectory() as tools:
        os.chmod(tools, 0o755)
        program = os.path.join(tools, "assay")
        with open(program, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nid -u\necho "$@" >result && stat -c %u result\n')
        os.chmod(program, 0o755)
        entry = os.path.join(tools, "entry")
        with open(entry, "w", encoding="utf-8") as file:
            file.write(read(root, "harness/package/container_entry.sh"))
        os.chmod(entry, 0o755)
        done = subprocess.run([entry, "run", "first-look"], cwd=folder, capture_output=True, text=True, check=False,
                              user=user, group=user, extra_groups=[] if user else None,
                              env={**os.environ, "PATH": tools + ":" + os.environ["PATH"]})
        return done.stdout.split(), done.stderr


def check_entry(root):
    text = read(root, "harness/package/Containerfile")
    wrong = [] if 'ENTRYPOINT ["container_entry"]' in text else ["the image's entry is not container_entry"]
    # Without root there is one user to try: whoever runs this.
    cases = ((12345, 0, "12345"), (0, 0, "0"), (12345, 12345, "12345")) if os.geteuid() == 0 else ((None, None, None),)
    for owner, user, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            if owner is not None:
                os.chown(folder, owner, owner)
            told, errors = entry_as(root, folder, user)
            expected = expected or str(os.geteuid())
            if told != [expected, expected]:
                wrong.append(f"container_entry.sh, started by user {user} in a folder of {owner}: {told} {errors}")
    return wrong


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    wrong = check_named(sys.argv[1]) + check_entry(sys.argv[1])
    if len(sys.argv) == 3:
        wrong += check_linked(sys.argv[1], sys.argv[2]) + check_maintainer(sys.argv[2])
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
