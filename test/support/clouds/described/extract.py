"""Extracts what AWS, Google and Azure publish about the calls of this directory: names, types and limits, without their prose.

    extract.py BOTOCORE GOOGLE AZURE     prints the description of aws.json, of google.json or of azure.json

BOTOCORE is the data directory of botocore 1.44.5, GOOGLE is compute.v1.json of google-api-python-client 2.202.0, AZURE is the
directory azure/mgmt/compute of azure-mgmt-compute 39.0.0 (its wheel has the SHA-256
6e59c5d37aafa4eaa97df765ac58bb8b97ac8f32dc9993a88bc167a136fb6d7c), which Azure generates from its OpenAPI; "-" skips one.
"""
import ast
import gzip
import json
import re
import sys

AWS = {
    "autoscaling/2011-01-01": [
        "DescribeAutoScalingGroups", "DescribeAutoScalingInstances", "UpdateAutoScalingGroup", "DescribeLifecycleHooks",
        "SuspendProcesses", "ResumeProcesses", "LaunchInstances", "TerminateInstanceInAutoScalingGroup",
    ],
    "ec2/2016-11-15": [
        "DescribeInstances", "CreateTags", "DescribeLaunchTemplateVersions", "CreateLaunchTemplateVersion",
        "DeleteLaunchTemplateVersions",
    ],
}
GOOGLE = {
    "instanceGroupManagers": ["aggregatedList", "get", "patch", "listManagedInstances", "listPerInstanceConfigs",
                              "createInstances", "deleteInstances"],
    "regionInstanceGroupManagers": ["get", "patch", "listManagedInstances", "listPerInstanceConfigs", "createInstances",
                                    "deleteInstances"],
    "autoscalers": ["aggregatedList", "get"],
    "regionAutoscalers": ["get"],
    "instanceTemplates": ["get", "list", "insert", "delete"],
    "regionInstanceTemplates": ["get", "list", "insert", "delete"],
    "instances": ["get", "list"],
    "disks": ["list"],
    "globalOperations": ["get"],
    "regionOperations": ["get"],
    "zoneOperations": ["get"],
}
AZURE = {
    "VirtualMachineScaleSets": ["list", "get", "update", "delete_instances", "get_instance_view"],
    "VirtualMachineScaleSetVMs": ["list", "get"],
}
LIMITS = ["type", "enum", "pattern", "min", "max", "flattened"]


def asked_as(api, name, member):
    """The name of a field in a request: the protocol of EC2 begins each with a capital."""
    wire = member.get("queryName") or member.get("locationName")
    if api == "ec2":
        return member.get("queryName") or (wire[0].upper() + wire[1:] if wire else name)
    return wire or name


def aws_shape(api, shape):
    found = {key: shape[key] for key in LIMITS if key in shape}
    # The types of machines change every month.
    if len(found.get("enum", [])) > 100:
        del found["enum"]
    if shape["type"] == "structure":
        found["members"] = {
            name: [member["shape"], asked_as(api, name, member), member.get("locationName") or name]
            for name, member in shape["members"].items()
        }
        found["required"] = shape.get("required", [])
    if shape["type"] == "list":
        found["of"] = shape["member"]["shape"]
        found["item"] = shape["member"].get("locationName") or "member"
    return found


def aws(data):
    apis = {}
    for place, names in AWS.items():
        api = place.split("/")[0]
        with gzip.open(f"{data}/{place}/service-2.json.gz") as file:
            model = json.load(file)
        operations = {name: model["operations"][name] for name in names}
        used = {
            name: {side: found[side]["shape"] for side in ["input", "output"] if side in found}
            for name, found in operations.items()
        }
        shapes, left = {}, [shape for found in used.values() for shape in found.values()]
        while left:
            name = left.pop()
            if name in shapes:
                continue
            shapes[name] = aws_shape(api, model["shapes"][name])
            left += [member[0] for member in shapes[name].get("members", {}).values()]
            left += [shapes[name]["of"]] if "of" in shapes[name] else []
        apis[api] = {"version": model["metadata"]["apiVersion"], "operations": used, "shapes": dict(sorted(shapes.items()))}
    return apis


def is_output(schema):
    return schema.get("readOnly", False) or "[Output Only]" in schema.get("description", "")


def google_field(schema):
    found = {key: schema[key] for key in ["type", "format", "enum", "pattern", "$ref"] if key in schema}
    if is_output(schema):
        found["output"] = True
    if "items" in schema:
        found["items"] = google_field(schema["items"])
    if "additionalProperties" in schema:
        found["values"] = google_field(schema["additionalProperties"])
    if "properties" in schema:
        found["properties"] = {name: google_field(each) for name, each in schema["properties"].items()}
    return found


def refs(value):
    if isinstance(value, list):
        return [each for item in value for each in refs(item)]
    if not isinstance(value, dict):
        return []
    return ([value["$ref"]] if "$ref" in value else []) + [each for item in value.values() for each in refs(item)]


def google(path):
    with open(path) as file:
        model = json.load(file)
    methods = []
    for resource, names in GOOGLE.items():
        for name in names:
            found = model["resources"][resource]["methods"][name]
            query = {
                key: google_field(each)
                for key, each in {**model["parameters"], **found["parameters"]}.items() if each["location"] == "query"
            }
            # A method whose prose recommends this parameter does not list it.
            if "`returnPartialSuccess`" in found["description"]:
                query["returnPartialSuccess"] = {"type": "boolean"}
            methods.append({
                "id": found["id"], "method": found["httpMethod"], "path": found["flatPath"], "query": query,
                **({"request": found["request"]["$ref"]} if "request" in found else {}),
                "response": found["response"]["$ref"],
            })
    schemas, left = {}, [each[side] for each in methods for side in ["request", "response"] if side in each]
    while left:
        name = left.pop()
        if name not in schemas:
            schemas[name] = google_field(model["schemas"][name])["properties"]
            left += refs(schemas[name])
    return {"revision": model["revision"], "base": model["servicePath"], "methods": methods,
            "schemas": dict(sorted(schemas.items()))}


def parsed(path):
    with open(path) as file:
        return ast.parse(file.read())


def classes(tree):
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}


def azure_type(text):
    """A type in the words of JSON Schema, from an annotation of Python."""
    text = text.replace('"', "").replace("'", "")
    if inner := re.fullmatch(r"Optional\[(.*)\]", text):
        return azure_type(inner[1])
    if inner := re.fullmatch(r"Union\[str, _models\.(\w+)\]", text):
        return {"enum": inner[1]}
    if inner := re.fullmatch(r"list\[(.*)\]", text):
        return {"items": azure_type(inner[1])}
    if inner := re.fullmatch(r"dict\[str, (.*)\]", text):
        return {"values": azure_type(inner[1])}
    if inner := re.fullmatch(r"_models\.(\w+)", text):
        return {"$ref": inner[1]}
    types = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "Any": "any",
             "datetime.datetime": "time", "datetime.timedelta": "string", "bytes": "string"}
    return {"type": types[text]}


def azure_field(field):
    given = {each.arg: ast.literal_eval(each.value) for each in field.value.keywords if each.arg != "default"}
    text = ast.unparse(field.annotation)
    found = azure_type(text)
    if "format" in given and given["format"] != "rfc3339":
        found["format"] = given["format"]
    if given.get("visibility") == ["read"]:
        found["readOnly"] = True
    if not text.startswith("Optional["):
        found["required"] = True
    return given.get("name", field.target.id), found


def azure_schema(models, name):
    """The fields of a model, and of the models that it extends."""
    model = models[name]
    bases = [base.id for base in model.bases if base.id in models]
    found = {key: each for base in bases for key, each in azure_schema(models, base).items()}
    fields = [each for each in model.body if isinstance(each, ast.AnnAssign) and isinstance(each.value, ast.Call)]
    return {**found, **dict(azure_field(each) for each in fields)}


def azure_method(tree, resource, name):
    """A call: its path and parameters, its statuses, and the models of its body and of its answer."""
    snake = {"VirtualMachineScaleSets": "virtual_machine_scale_sets", "VirtualMachineScaleSetVMs": "virtual_machine_scale_set_vms"}
    build = f"build_{snake[resource]}_{name}_request"
    text = ast.unparse(next(each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == build))
    functions = [each for each in classes(tree)[f"{resource}Operations"].body if isinstance(each, ast.FunctionDef)]
    named = [each for each in functions if each.name in [name, f"_{name}_initial", f"begin_{name}"]]
    code = "\n".join(ast.unparse(each) for each in named)
    query = re.findall(r"_params\['([^']+)'\] = _SERIALIZER\.query\('\w+', \w+, '(\w+)'", text)
    body = re.search(r"(?:parameters|vm_instance_i_ds): _models\.(\w+)", code)
    answer = re.search(r"(?:LROPoller|ItemPaged)\['?(?:_models\.)?(\w+)|-> _models\.(\w+)", code)
    response = answer[1] or answer[2]
    return {
        "id": f"{resource}.{name}", "method": re.search(r"method='(\w+)'", text)[1], "path": re.search(r"_url = '([^']+)'", text)[1],
        "query": {key: azure_type(each) if each != "bool" else {"type": "boolean"} for key, each in query},
        "statuses": json.loads(re.search(r"status_code not in (\[[\d, ]+\])", code)[1]),
        **({"request": body[1]} if body else {}), **({"response": response} if response != "None" else {}),
        **({"isPaged": True} if "ItemPaged[" in code else {}),
    }


def azure(path):
    models, enums = classes(parsed(f"{path}/models/_models.py")), classes(parsed(f"{path}/models/_enums.py"))
    tree = parsed(f"{path}/operations/_operations.py")
    methods = [azure_method(tree, resource, name) for resource, names in AZURE.items() for name in names]
    schemas, left = {}, [each[side] for each in methods for side in ["request", "response"] if side in each]
    while left:
        name = left.pop()
        if name not in schemas:
            schemas[name] = azure_schema(models, name)
            left += refs(schemas[name])
    used = {each for schema in schemas.values() for each in values_of(schema, "enum")}
    values = {
        name: [each.value.value for each in enums[name].body if isinstance(each, ast.Assign)] for name in sorted(used)
    }
    version = re.search(r'"api-version", "([\d-]+)"', open(f"{path}/operations/_operations.py").read())[1]
    return {"version": version, "methods": methods, "enums": values, "schemas": dict(sorted(schemas.items()))}


def values_of(value, key):
    """All texts under that key."""
    if isinstance(value, list):
        return [found for each in value for found in values_of(each, key)]
    if not isinstance(value, dict):
        return []
    own = [value[key]] if isinstance(value.get(key), str) else []
    return own + [found for each in value.values() for found in values_of(each, key)]


def lines(value, depth):
    """One entry a line down to a depth."""
    if depth == 0 or not isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    return "{\n" + ",\n".join(f"{json.dumps(key)}:{lines(each, depth - 1)}" for key, each in value.items()) + "\n}"


botocore, google_compute, azure_compute = [*sys.argv[1:], "-"][:3]
if botocore != "-":
    print(lines(aws(botocore), 3))
elif google_compute != "-":
    print(lines(google(google_compute), 2))
else:
    print(lines(azure(azure_compute), 2))
